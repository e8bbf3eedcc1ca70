#!/usr/bin/env python3
"""Writes experiments/matrix and experiments/matrix2: a scenario file for each point, with a table
[point]. Version 1 of the matrix is the first folder, version 2 is both.

The points are stated here once, so that values that belong together (the fraction that a path
loses, the goal that follows from it) cannot differ. Run it in the repository's folder; VERSION is
raised by hand whenever a score can change."""
import json
import os
import random
import re
import textwrap
import tomllib

OUT = 'experiments/matrix'
# What version 2 adds, and its classes.
MORE = 'experiments/matrix2'
ADDED = 'HIJKLM'
POINTS = {}


WIDTH = 100


def line(key, value):
    """`key = value`, on several lines if it is long."""
    text = f'{key} = {value}'
    if len(text) <= WIDTH:
        return text + '\n'
    if value.startswith('"'):
        lines = textwrap.wrap(value.strip('"'), WIDTH - 5)
        return f'{key} = """\\\n' + ' \\\n'.join(lines) + '"""\n'
    cells = json.dumps(tomllib.loads(f'x = {value}')['x'])[1:-1]
    cells = cells.replace('], [', '],\0[') if '[' in cells else cells.replace(', ', ',\0')
    lines, now = [], ''
    for cell in cells.split('\0'):
        if len(now) + len(cell) > WIDTH - 4:
            lines.append(now.rstrip())
            now = ''
        now += cell + ' '
    return f'{key} = [\n' + ''.join(f'  {x}\n' for x in [*lines, now.rstrip()]) + ']\n'


def q(text):
    return f'"{text}"'


def point(name, cls, score, claim, links, flows, rtt, duration=60, run='', **meta):
    """Writes a point. `links` and `flows` hold TOML values; `meta` are further keys of [point]."""
    assert name not in POINTS, name
    POINTS[name] = cls
    tested = [flow['name'] for flow in flows if flow.get('test')]
    text = f'[point]\nclass = {q(cls)}\n' + line('claim', q(claim))
    text += line('flows', f'[{", ".join(tested)}]') + f'score = {q(score)}\nrtt = {q(rtt)}\n'
    for key, value in meta.items():
        text += f'{key} = {value}\n'
    for link, body in links.items():
        # A table that is too long for a line has a heading of its own.
        long = {k: v for k, v in body.items() if v.startswith('{') and len(v) > WIDTH - 10}
        short = {k: v for k, v in body.items() if k not in long}
        text += f'\n[link.{link}]\n' + ''.join(line(k, v) for k, v in short.items())
        for key, table in long.items():
            text += f'\n[link.{link}.{key}]\n'
            for k, v in tomllib.loads(f'x = {table}')['x'].items():
                text += line(k, json.dumps(v))
    for flow in flows:
        text += '\n[[flow]]\n' + ''.join(f'{k} = {v}\n' for k, v in flow.items() if k != 'test')
    text += f'\n[run]\nduration = {q(f"{duration} s")}\n{run}'
    with open(f'{MORE if cls in ADDED else OUT}/{name}.toml', 'w') as file:
        file.write(text)


def link(rate, rtt, queue='1 bdp', loss=None, **more):
    body = dict(rate=q(rate), delay=q(f'{rtt / 2:g} ms'), queue=q(queue))
    if loss:
        body['loss'] = loss if loss.startswith('{') else q(loss)
    body.update(more)
    return body


def tested(**more):
    return {'name': q('t'), 'route': '["L"]', 'test': True, **more}


def other(controller, name='other', **more):
    return dict(name=q(name), controller=q(controller), route='["L"]', **more)


ALONE = [tested()]
TOGETHER = q('0 s .. 2 s')
SPREAD = q('0 s .. 5 s')


def pct(p):
    return f'{p:g} %'


# ---- A: random and bursty loss. The goal is (1 - p) C: 0.95 of it up to 300 ms, 0.92 at 600 ms.
def a(name, rate, rtt, p, queue='1 bdp', duration=60, loss=None, what=None):
    what = what or (f'{pct(p)} random loss' if p else 'No random loss')
    point(name, 'A', 'fill', f'{what} at {rate} and {rtt} ms, buffer {queue}: the link is full.',
          {'L': link(rate, rtt, queue, loss or (pct(p) if p else None))}, ALONE, f'{rtt} ms',
          duration, goal=0.92 if rtt > 300 else 0.95, queue=0.25, **lost(p))


def lost(p):
    return {'lost': q(pct(p))} if p else {}


a('a01', '10 Mbit/s', 20, 1)
a('a02', '10 Mbit/s', 100, 5)
a('a03', '50 Mbit/s', 100, .1)
a('a04', '50 Mbit/s', 100, 1)
a('a05', '50 Mbit/s', 100, 5)
a('a06', '20 Mbit/s', 600, 1, duration=90)
a('a07', '20 Mbit/s', 600, 3, duration=90)
a('a08', '1 Gbit/s', 20, .1, duration=20)
a('a09', '1 Gbit/s', 100, 1, duration=30)
a('a10', '200 Mbit/s', 300, .5, queue='4 bdp')
a('a11', '50 Mbit/s', 50, 2, queue='0.1 bdp')
a('a12', '50 Mbit/s', 100, 0, queue='4 bdp')
a('a13', '50 Mbit/s', 100, 1.96, loss='{ gilbert-elliott = { p = "0.2 %", r = "10 %" } }',
  what='Bursts of ten lost packets, 2 % in all,')
a('a14', '50 Mbit/s', 100, 1.96, loss='{ gilbert-elliott = { good = "1 s", bad = "20 ms" } }',
  what='Bursts of loss of 20 ms, 2 % in all,')
a('a15', '10 Mbit/s', 600, .1, duration=90)
a('a16', '200 Mbit/s', 45, .5, duration=30)
a('a17', '1 Gbit/s', 50, .001, duration=20)
a('a18', '100 Mbit/s', 20, 2, queue='0.25 bdp', duration=30)
a('a19', '50 Mbit/s', 60, 1.92,
  loss='{ gilbert-elliott = { good = "5 s", bad = "200 ms", bad_loss = "50 %" } }',
  what='Periods of 200 ms with half of the packets lost, 2 % in all,')
a('a20', '20 Mbit/s', 300, 10, duration=90)


# ---- B: fades. The goal allows each fade to cost one second more than it lasts.
def b(name, rate, rtt, fades, duration=60, p=0, run='', note=''):
    loss = 'outages = [' + ', '.join(f'["{x} s", "{y} s"]' for x, y in fades) + ']'
    if p:
        loss += f', random = "{pct(p)}"'
    up = duration - sum(y - x for x, y in fades)
    goal = round(0.97 * (1 - len(fades) / up), 3)
    seconds = ' and '.join(sorted({f'{y - x} s' for x, y in fades}))
    point(name, 'B', 'fill',
          f'{len(fades)} fades of {seconds} at {rate} and {rtt} ms{note}: a fade costs one second '
          'more than it lasts.',
          {'L': link(rate, rtt, '1 bdp', '{ ' + loss + ' }')}, ALONE, f'{rtt} ms', duration,
          run=run, goal=goal, queue=1, **lost(p))


THREE = [(10, 12), (25, 27), (40, 42)]
b('b01', '50 Mbit/s', 100, THREE)
b('b02', '50 Mbit/s', 100, [(10, 11), (20, 21), (30, 31), (40, 41), (50, 51)])
b('b03', '20 Mbit/s', 600, [(20, 25), (50, 55)], duration=90)
b('b04', '100 Mbit/s', 40, [(20, 30)])
b('b05', '50 Mbit/s', 100, THREE, p=1, note=' with 1 % random loss')
b('b06', '50 Mbit/s', 100, THREE, run='max_rto = "1 s"\n', note=', timers of at most 1 s')
b('b07', '20 Mbit/s', 600, [(15, 16), (40, 48), (70, 71)], duration=100, run='max_rto = "1 s"\n',
  note=', timers of at most 1 s')
point('b08', 'B', 'fill', 'Five fades of 1 s at drawn times: a fade costs one second more than it '
      'lasts.', {'L': link('50 Mbit/s', 60, '1 bdp',
                           '{ random_outages = { count = 5, length = "1 s" } }')}, ALONE, '60 ms',
      60, goal=.88, queue=1)


# ---- C: hand-overs, changes of capacity, low-orbit paths.
def c(name, claim, body, rtt, duration=120, p=0, run='', links=None, flows=None, **more):
    if p:
        body['loss'] = q(pct(p))
    point(name, 'C', 'fill', claim, links or {'L': body}, flows or ALONE, f'{rtt} ms', duration,
          run=run, goal=0.95, queue=0.5, overflow=q('1 %'), **lost(p), **more)


def orbit(queue, **more):
    keys = dict(rate='50 Mbit/s', ground='15 ms', **more)
    table = ', '.join(f'{k} = {q(v)}' for k, v in keys.items())
    return dict(low_orbit='{ ' + table + ' }', queue=q(queue))


c('c01', 'A low-orbit path, buffer 100 packets: the rate follows the satellites.',
  orbit('100 packets'), 45)
c('c02', 'A low-orbit path, buffer 300 packets: the rate follows the satellites.',
  orbit('300 packets'), 45)
c('c03', 'A low-orbit path, buffer 1000 packets: a large buffer stays nearly empty.',
  orbit('1000 packets'), 45)
SKY = ('{ every = "15 s", steps = ["20 ms", "35 ms", "25 ms", "40 ms", "30 ms", "22 ms", "38 ms", '
       '"28 ms"] }')
c('c04', 'Delay changes every 15 s: a longer path is not a queue.',
  dict(rate=q('50 Mbit/s'), delay=SKY, queue=q('100 packets')), 60)
c('c05', 'Delay changes every 15 s, with 0.5 % random loss: neither is congestion.',
  dict(rate=q('50 Mbit/s'), delay=SKY, queue=q('300 packets')), 60, p=.5)
c('c06', 'Hand-over from 50 ms to 600 ms and back: the window follows the path.',
  dict(rate=q('20 Mbit/s'), delay='[["0 s", "25 ms"], ["30 s", "300 ms"], ["90 s", "25 ms"]]',
       queue=q('300 packets')), 300)
c('c07', 'Steps of capacity between 10 and 100 Mbit/s: the rate follows within round trips.',
  dict(rate='[["0 s", "50 Mbit/s"], ["15 s", "10 Mbit/s"], ["30 s", "100 Mbit/s"], '
            '["45 s", "20 Mbit/s"]]', delay=q('25 ms'), queue=q('200 packets')), 50, duration=60)
c('c08', 'Hand-over to a slower and longer path and back.',
  dict(rate='[["0 s", "50 Mbit/s"], ["30 s", "10 Mbit/s"], ["90 s", "50 Mbit/s"]]',
       delay='[["0 s", "25 ms"], ["30 s", "300 ms"], ["90 s", "25 ms"]]',
       queue=q('300 packets')), 300)


def cellular(seed, low, high, every, duration):
    """Rates of a cellular link: the logarithm walks at random between two bounds."""
    draw = random.Random(seed)
    at, position, steps = 0.0, 0.5, []
    while at < duration - 1e-9:
        rate = low * (high / low) ** position
        steps.append(f'["{at:g} s", "{rate:.3g} Mbit/s"]')
        position += draw.uniform(-.25, .25)
        position = min(max(position, -position), min(1.0, 2 - position))
        at += every
    return '[' + ', '.join(steps) + ']'


c('c09', 'A cellular path of 2 to 40 Mbit/s that changes every second, buffer 300 packets.',
  dict(rate=cellular(1, 2, 40, 1, 60), delay=q('30 ms'), queue=q('300 packets')), 60, duration=60)
c('c10', 'A cellular path of 5 to 100 Mbit/s that changes every 200 ms, with a large buffer.',
  dict(rate=cellular(2, 5, 100, .2, 60), delay=q('25 ms'), queue=q('2000 packets')), 50,
  duration=60)
c('c11', 'A low-orbit path of 200 Mbit/s, buffer 500 packets.',
  dict(low_orbit='{ rate = "200 Mbit/s", ground = "15 ms" }', queue=q('500 packets')), 45,
  duration=60)
c('c12', 'A low-orbit path with 1 % random loss.', orbit('300 packets'), 45, p=1)
c('c13', 'The base RTT doubles for good: the longer path is not a queue.',
  dict(rate=q('50 Mbit/s'), delay='[["0 s", "20 ms"], ["20 s", "40 ms"]]',
       queue=q('300 packets')), 80, duration=60)
c('c14', 'The rate falls to a tenth for good: the queue drains.',
  dict(rate='[["0 s", "100 Mbit/s"], ["20 s", "10 Mbit/s"]]', delay=q('25 ms'),
       queue=q('400 packets')), 50, duration=60)


# ---- D: sharing.
def beside(name, rate, rtt, queue, others, count=1, duration=60, run='', note='', goal=None,
           start=TOGETHER, **more):
    flows = [tested(count=count, start=start)]
    names = []
    for i, (controller, n) in enumerate(others):
        flows.append(other(controller, f'other{i}' if len(others) > 1 else 'other', count=n,
                           start=TOGETHER))
        names.append(f'{n} {controller}')
    meta = dict(goal=goal) if goal else {}
    point(name, 'D', 'share',
          f'{count} beside {" and ".join(names)} at {rate} and {rtt} ms, buffer {queue}{note}: a '
          'fair share, without harm.', {'L': link(rate, rtt, queue, **more)}, flows, f'{rtt} ms',
          duration, run=run, **meta)


beside('d01', '50 Mbit/s', 50, '1 bdp', [('cubic', 1)])
beside('d02', '100 Mbit/s', 50, '1 bdp', [('cubic', 5)])
beside('d03', '50 Mbit/s', 100, '1 bdp', [('newreno', 1)])
beside('d04', '100 Mbit/s', 40, '10 bdp', [('cubic', 10)])
beside('d05', '50 Mbit/s', 50, '10 bdp', [('cubic', 1)], duration=90)
beside('d06', '50 Mbit/s', 50, '0.1 bdp', [('cubic', 1)], goal=.85)
beside('d07', '50 Mbit/s', 50, '1 bdp', [('bbr', 1)])
beside('d08', '50 Mbit/s', 50, '1 bdp', [('bbr3', 1)])
beside('d09', '20 Mbit/s', 200, '1 bdp', [('cubic', 1)], duration=120)
beside('d10', '100 Mbit/s', 40, '2 bdp', [('cubic', 3)], count=3)
beside('d11', '100 Mbit/s', 40, '1 bdp', [('newreno', 10)])


def datagrams(rate, start='5 s', **more):
    return dict(name=q('datagrams'), kind=q('udp'), rate=q(rate), packet=q('1500 B'),
                route='["L"]', start=q(start), **more)


point('d12', 'D', 'fill', 'Beside datagrams at half the rate: the other half is used.',
      {'L': link('50 Mbit/s', 50)}, [tested(), datagrams('25 Mbit/s')], '50 ms', goal=.95, queue=1,
      taken=q('22.9 Mbit/s'))


def own(name, claim, links, flows, rtt, duration=60, p=0, run='', queue=.5, goal=.95, settled=20):
    point(name, 'D', 'own', claim, links, flows, f'{rtt} ms', duration,
          run='sample = "100 ms"\n' + run, goal=goal, queue=queue, settled=q(f'{settled} s'),
          **lost(p))


def four(claim, **more):
    return claim, {'L': link('50 Mbit/s', 50, more.pop('queue', '1 bdp'), **more)}, [
        tested(count=4, start=SPREAD)], 50


own('d13', *four('Four flows: equal shares.'))
own('d14', 'Four flows with RTTs of 20 to 200 ms: equal shares.',
    {'L': link('100 Mbit/s', 0, '300 kB'),
     **{f'a{r}': dict(delay=q(f'{r / 2:g} ms')) for r in (20, 50, 100, 200)}},
    [tested(name=q(f't{r}'), route=f'["a{r}", "L"]', start=TOGETHER) for r in (20, 50, 100, 200)],
    50, 120)
own('d15', 'Ten flows on a buffer of 0.1 BDP: equal shares, few losses.',
    {'L': link('100 Mbit/s', 40, '0.1 bdp')}, [tested(count=10, start=SPREAD)], 40, goal=.9)
own('d16', *four('Four flows on a buffer of 10 BDP: equal shares, a short queue.', queue='10 bdp'))
own('d17', 'A flow that starts late gets its share.', {'L': link('50 Mbit/s', 100)},
    [tested(start=q('0 s')), tested(name=q('late'), start=q('20 s'))], 100, 80)
own('d18', *four('Four flows under CoDel with marks.', aqm=q('codel')), run='ecn = true\n')
own('d19', *four('Four flows under CoDel.', aqm=q('codel')))
own('d20', *four('Four flows under RED with marks.', queue='2 bdp', aqm=q('red')),
    run='ecn = true\n')
own('d21', *four('Four flows with 1 % random loss: equal shares of a full link.', loss='1 %'), p=1)
beside('d22', '50 Mbit/s', 50, '1 bdp', [('cubic', 1)], loss='0.5 %', goal=.5,
       note=' with 0.5 % random loss')
beside('d23', '100 Mbit/s', 40, '2 bdp', [('bbr', 10)])
beside('d24', '100 Mbit/s', 40, '0.5 bdp', [('newreno', 4)], count=4)
beside('d25', '50 Mbit/s', 50, '2 bdp', [('cubic', 1)], aqm=q('fq-codel'), goal=.9,
       note=' under FQ-CoDel')
beside('d26', '50 Mbit/s', 50, '2 bdp', [('cubic', 1)], aqm=q('codel'), run='ecn = true\n',
       goal=.85, note=' under CoDel with marks')
beside('d27', '50 Mbit/s', 50, '2 bdp', [('newreno', 2)], aqm=q('red'), goal=.85,
       note=' under RED')
beside('d28', '50 Mbit/s', 50, '1 bdp', [('cubic', 1), ('bbr', 1)])
beside('d29', '10 Mbit/s', 100, '1 bdp', [('cubic', 4)])
point('d30', 'D', 'share', 'An RTT of 100 ms beside CUBIC with 20 ms: a share, without harm.',
      {'L': link('50 Mbit/s', 20, '250 kB'), 'far': dict(delay=q('40 ms'))},
      [tested(route='["far", "L"]', start=TOGETHER), other('cubic', start=TOGETHER)], '100 ms')
point('d31', 'D', 'fill', 'Beside datagrams that come and go: what they leave is used.',
      {'L': link('50 Mbit/s', 50)},
      [tested(), datagrams('25 Mbit/s', '0 s', on=q('2 s'), off=q('2 s'), exponential='true')],
      '50 ms', goal=.9, queue=1, taken=q('12.5 Mbit/s'))
point('d32', 'D', 'fill', 'A policer of 20 Mbit/s without a queue: its rate is used, with few '
      'losses.', {'L': dict(rate=q('100 Mbit/s'), delay=q('25 ms'), queue=q('1 bdp'),
                            aqm=q('policer?rate=20 Mbit/s'))}, ALONE, '50 ms', goal=.9, queue=1,
      overflow=q('2 %'))
own('d33', 'Twenty flows of 5 Mbit/s: equal shares.', {'L': link('100 Mbit/s', 50)},
    [tested(count=20, start=SPREAD)], 50)
own('d34', 'Four flows with RTTs of 20 to 200 ms and 0.5 % random loss: equal shares.',
    {'L': link('100 Mbit/s', 0, '300 kB', '0.5 %'),
     **{f'a{r}': dict(delay=q(f'{r / 2:g} ms')) for r in (20, 50, 100, 200)}},
    [tested(name=q(f't{r}'), route=f'["a{r}", "L"]', start=TOGETHER) for r in (20, 50, 100, 200)],
    50, p=.5)
own('d35', 'Five flows that start one after the other, every 10 s: each gets its share.',
    {'L': link('50 Mbit/s', 40)},
    [tested(name=q(f't{i}'), start=q(f'{10 * i} s')) for i in range(5)], 40, 80)
own('d36', 'Two flows over 200 ms.', {'L': link('20 Mbit/s', 200)},
    [tested(count=2, start=SPREAD)], 200, 90)
own('d37', *four('Four flows under FQ-CoDel.', queue='2 bdp', aqm=q('fq-codel')))
own('d38', 'Ten flows of 2 Mbit/s: equal shares, a short queue.', {'L': link('20 Mbit/s', 40)},
    [tested(count=10, start=SPREAD)], 40)
own('d39', 'Eight flows with 0.5 % random loss on 200 Mbit/s.',
    {'L': link('200 Mbit/s', 80, '1 bdp', '0.5 %')}, [tested(count=8, start=SPREAD)], 80, 40,
    p=.5)


# ---- E: corruption.
def e(name, loss, p, note, run='', rate='20 Mbit/s', rtt=100):
    point(name, 'E', 'fill', f'{note} at {rate} and {rtt} ms: corruption is not congestion.',
          {'L': link(rate, rtt, '1 bdp', loss)}, ALONE, f'{rtt} ms', 60, run=run, goal=.97,
          queue=.25, **lost(p))


e('e01', '{ corrupt = "1 %" }', 1, '1 % of the packets corrupted, reported by NACKs,',
  'nack = "on"\n')
e('e02', '{ corrupt = "5 %" }', 5, '5 % of the packets corrupted, reported by NACKs,',
  'nack = "on"\n')
e('e03', '{ bit_errors = 1e-6 }', 1.2, 'A bit error rate of 1e-6, not reported,')
e('e04', '{ corrupt = "1 %" }', 1, '1 % of the packets corrupted, not reported,')
e('e05', '{ corrupt = "2 %" }', 2, '2 % of the packets corrupted, reported by NACKs,',
  'nack = "on"\n', rtt=300)


# ---- F: noise.
def f(name, claim, links, flows, rtt, duration=40, p=0, run='', goal=.9):
    point(name, 'F', 'fill', claim, links, flows, f'{rtt} ms', duration, run=run, goal=goal,
          queue=.5, **lost(p))


def wifi(rate, queue, frame_loss=None):
    value = q(rate)
    if frame_loss:
        value = f'{{ rate = {q(rate)}, frame_loss = {q(frame_loss)} }}'
    return dict(wifi=value, delay=q('5 ms'), queue=q(queue))


f('f01', 'Wi-Fi at 65 Mbit/s as the first hop: aggregates are not a queue.',
  {'W': wifi('65 Mbit/s', '300 packets'), 'B': dict(delay=q('20 ms'))},
  [tested(route='["W", "B"]')], 50)
f('f02', 'Wi-Fi at 300 Mbit/s that repeats 10 % of its frames.',
  {'W': wifi('300 Mbit/s', '500 packets', '10 %'), 'B': dict(delay=q('30 ms'))},
  [tested(route='["W", "B"]')], 70, goal=.8)
f('f03', 'An acknowledgment for 16 packets, with 0.5 % random loss.',
  {'L': link('50 Mbit/s', 40, '1 bdp', '0.5 %')}, ALONE, 40, 60, p=.5,
  run='ack_every = 16\nack_delay = "20 ms"\n')


def noisy(name, claim, noise, loss=None, p=0, reverse=None, base=20, goal=.9):
    body = dict(rate=q('50 Mbit/s'), queue=q('170 packets'),
                delay=f'{{ base = "{base} ms"{noise} }}' if noise else q(f'{base} ms'))
    if loss:
        body['loss'] = q(loss)
    if reverse:
        body['reverse'] = f'{{ delay = {{ base = "{base} ms"{reverse} }} }}'
    f(name, claim, {'L': body}, ALONE, 2 * base, p=p, goal=goal)


noisy('f04', 'Exponential jitter of 2 ms with 0.5 % random loss: noise is not a queue.',
      ', jitter = "2 ms"', '0.5 %', .5)
f('f05', 'Wi-Fi at 65 Mbit/s as the last hop, behind a bottleneck of 50 Mbit/s.',
  {'L': link('50 Mbit/s', 50, '2 bdp'), 'W': wifi('65 Mbit/s', '300 packets')},
  [tested(route='["L", "W"]')], 60)
noisy('f06', 'Heavy-tailed jitter of 3 ms.', ', jitter = "3 ms", distribution = "pareto"')
noisy('f07', 'Normal jitter of 8 ms.', ', jitter = "8 ms", distribution = "normal"')
noisy('f08', 'Uniform jitter of 5 ms, new every 20 ms.',
      ', jitter = "5 ms", distribution = "uniform", every = "20 ms"')
noisy('f09', 'Acknowledgments come in batches, every 10 ms.', '', reverse=', batch = "10 ms"')
noisy('f10', 'Acknowledgments come in batches, every 40 ms, with 0.5 % random loss.', '', '0.5 %',
      .5, ', batch = "40 ms"')
noisy('f11', 'A slot every 10 ms in both directions, as of a cellular uplink.', ', batch = "10 ms"')
f('f12', 'Wi-Fi at 130 Mbit/s that repeats 20 % of its frames, first hop of a slower path.',
  {'W': wifi('130 Mbit/s', '300 packets', '20 %'), 'B': link('50 Mbit/s', 40)},
  [tested(route='["W", "B"]')], 50)


# ---- G: short transfers.
def g(name, rate, rtt, size, p=0):
    loss = f' with {pct(p)} random loss' if p else ''
    point(name, 'G', 'completion',
          f'{size} at {rate} and {rtt} ms{loss}, alone: as soon as the better of CUBIC and BBR.',
          {'L': link(rate, rtt, '1 bdp', pct(p) if p else None)}, [tested(size=q(size))],
          f'{rtt} ms', 120, goal=1.05)


g('g01', '10 Mbit/s', 40, '100 kB')
g('g02', '50 Mbit/s', 100, '1 MB')
g('g03', '50 Mbit/s', 100, '10 MB')
g('g04', '20 Mbit/s', 600, '1 MB')
g('g05', '100 Mbit/s', 40, '10 MB', 1)
point('g06', 'G', 'completion', '1 MB beside a long CUBIC flow: as soon as the better of CUBIC and '
      'BBR, within a third.', {'L': link('20 Mbit/s', 50)},
      [tested(size=q('1 MB'), start=q('10 s .. 12 s')), other('cubic')], '50 ms', 60, goal=1.3)
g('g07', '100 Mbit/s', 200, '100 kB')
g('g08', '50 Mbit/s', 50, '20 kB')
g('g09', '20 Mbit/s', 600, '5 MB', .1)
g('g10', '1 Gbit/s', 40, '50 MB')
point('g11', 'G', 'completion', '1 MB beside a long BBR flow: as soon as the better of CUBIC and '
      'BBR, within a third.', {'L': link('20 Mbit/s', 50)},
      [tested(size=q('1 MB'), start=q('10 s .. 12 s')), other('bbr')], '50 ms', 60, goal=1.3)
point('g12', 'G', 'completion', 'Ten transfers of 300 kB beside two long CUBIC flows.',
      {'L': link('50 Mbit/s', 40)},
      [tested(count=10, size=q('300 kB'), start=q('5 s .. 15 s')), other('cubic', count=2)],
      '40 ms', 40, goal=1.3)

# ---- H: generated cellular paths, both ways. Nine tenths of what the radio carries, stalls and
# pauses included, with two base RTTs in its buffer: half of a usual one.
def h(name, claim, cell, rtt, packets, **more):
    table = ', '.join(f'{k} = {q(v) if isinstance(v, str) else v}' for k, v in cell.items())
    body = dict(cellular='{ ' + table + ' }', delay=q(f'{rtt / 2:g} ms'),
                queue=q(f'{packets} packets'), **more)
    point(name, 'H', 'fill', f'{claim} The rate follows the radio, both ways.', {'L': body}, ALONE,
          f'{rtt} ms', goal=.9, queue=2)


h('h01', 'A usual cellular path.', dict(rate='12 Mbit/s'), 60, 300)
h('h02', 'A fast one with a deep buffer.', dict(rate='40 Mbit/s', reverse_rate='10 Mbit/s'), 40,
  2000)
h('h03', 'A slow uplink.', dict(rate='15 Mbit/s', reverse_rate='1 Mbit/s'), 80, 500)
h('h04', 'A stall every 3 s.', dict(rate='20 Mbit/s', stall_interval='3 s'), 60, 500)
h('h05', 'Strong and fast fading.', dict(rate='30 Mbit/s', fading=1.0, coherence='500 ms'), 50,
  1000)
h('h06', '5G: short slots, frequent hand-overs.', dict(
    rate='100 Mbit/s', reverse_rate='20 Mbit/s', slot='500 us', reverse_slot='2.5 ms',
    handover_interval='10 s'), 40, 2000)


# ---- I: several bottlenecks in a row, with a flow across each of them.
def bottlenecks(name, n, rate, rtt, kind=None, buffer=1):
    packets = round(buffer * rate * 1e6 / 12000 * rtt / 1e3)
    links = {f'L{i}': link(f'{rate} Mbit/s', rtt / n, f'{packets} packets') for i in range(n)}
    flows = [tested(route=json.dumps(list(links)), start=TOGETHER)]
    each = kind or 'own kind'
    claim = f'{n} bottlenecks of {rate} Mbit/s, a flow of {each} across each: '
    if kind:
        flows += [dict(name=q(f'other{i}'), controller=q(kind), route=f'["{key}"]', start=TOGETHER)
                  for i, key in enumerate(links)]
        point(name, 'I', 'share', claim + 'half of a fair share, without harm.', links, flows,
              f'{rtt} ms')
    else:
        flows += [tested(name=q(f't{i}'), route=f'["{key}"]', start=TOGETHER)
                  for i, key in enumerate(links)]
        point(name, 'I', 'own', claim + 'equal shares.', links, flows, f'{rtt} ms',
              run='sample = "100 ms"\n', goal=.9, queue=1)


bottlenecks('i01', 3, 30, 60, 'cubic')
bottlenecks('i02', 2, 50, 40, 'newreno')
bottlenecks('i03', 3, 30, 60, 'bbr')
bottlenecks('i04', 4, 15, 100, 'cubic', .5)
bottlenecks('i05', 2, 50, 40)
bottlenecks('i06', 3, 30, 60)


# ---- J: traffic on the way back: uploads and datagrams beside the acknowledgments.
def j(name, down, up, rtt, packets, back, goal=.85):
    """`back`: the flows on the way back. The acknowledgments of the flow need about 2 % of its
    rate; a fair queue would leave it that."""
    links = {'D': dict(rate=q(f'{down} Mbit/s'), delay=q(f'{rtt / 2:g} ms'), queue=q('1 bdp')),
             'U': dict(rate=q(f'{up} Mbit/s'), delay=q(f'{rtt / 2:g} ms'),
                       queue=q(f'{packets} packets'))}
    flows = [tested(route='["D"]', back='["U"]')]
    flows += [dict(flow, route='["U"]', **({} if 'kind' in flow else {'back': '["D"]'}))
              for flow in back]
    what = ' and '.join(f'{flow.get("count", 1)} {flow.get("controller", flow["name"])}'.replace(
        '"', '') for flow in back)
    point(name, 'J', 'fill', f'{down} Mbit/s down and {up} up, {what} on the way up: the way down '
          'is full.', links, flows, f'{rtt} ms', goal=goal, queue=1)


j('j01', 20, 4, 60, 60, [other('cubic')])
j('j02', 50, 10, 40, 300, [other('cubic', count=3)])
j('j03', 30, 3, 80, 100, [other('bbr')])
j('j04', 40, 5, 50, 50, [dict(datagrams('4 Mbit/s'), on=q('2 s'), off=q('2 s'))])
j('j05', 100, 10, 30, 100, [other('newreno', count=2)])
j('j06', 10, 1, 60, 40, [other('cubic')], .7)


# ---- K: churn: short transfers that come and go.
def k(name, rate, rtt, count, size, kind='cubic', long=1):
    flows = [tested(start=TOGETHER)]
    if long:
        flows.append(other('cubic', start=TOGETHER))
    flows.append(other(kind, 'short', count=count, size=q(size), start=q('2 s .. 55 s')))
    beside = ' and a long CUBIC flow' if long else ''
    point(name, 'K', 'share', f'Beside {count} transfers of {size} by {kind}{beside} at {rate} and '
          f'{rtt} ms: half of a fair share, without harm.', {'L': link(rate, rtt)}, flows,
          f'{rtt} ms', goal=.8)


k('k01', '50 Mbit/s', 50, 60, '500 kB')
k('k02', '100 Mbit/s', 20, 200, '100 kB', 'newreno')
k('k03', '20 Mbit/s', 100, 30, '1 MB')
k('k04', '50 Mbit/s', 40, 60, '1 MB', 'bbr')
k('k05', '30 Mbit/s', 60, 100, '500 kB', long=0)
point('k06', 'K', 'completion', '80 transfers of 300 kB of own kind come and go at 20 Mbit/s and '
      '50 ms: as soon as the better of CUBIC and BBR.', {'L': link('20 Mbit/s', 50)},
      [tested(count=80, size=q('300 kB'), start=q('0 s .. 30 s'))], '50 ms', 60, goal=1.05)


# ---- L: outages that flicker. Each may cost two round trips more than it lasts.
def flicker(name, rate, rtt, count, length, p=0):
    duration = 60
    up = duration - count * length
    goal = round(.95 * (1 - 2 * rtt / 1e3 * count / up), 3)
    loss = f'random_outages = {{ count = {count}, length = "{length:g} s" }}'
    if p:
        loss += f', random = "{pct(p)}"'
    point(name, 'L', 'fill', f'{count} outages of {length:g} s in a minute at {rate} and {rtt} ms: '
          'each costs two round trips more than it lasts.',
          {'L': link(rate, rtt, '1 bdp', '{ ' + loss + ' }')}, ALONE, f'{rtt} ms', duration,
          goal=goal, queue=1, **lost(p))


flicker('l01', '30 Mbit/s', 60, 40, .2)
flicker('l02', '50 Mbit/s', 40, 60, .1)
flicker('l03', '20 Mbit/s', 100, 20, .5)
flicker('l04', '10 Mbit/s', 30, 25, .3, 1)
flicker('l05', '100 Mbit/s', 50, 15, .8)


# ---- M: mixtures of three algorithms.
def mixture(name, rate, rtt, queue, kinds, count=1, **more):
    flows = [tested(start=TOGETHER)]
    flows += [other(kind, f'other{i}', count=count, start=TOGETHER) for i, kind in enumerate(kinds)]
    point(name, 'M', 'share', f'Beside {count} each of {", ".join(kinds)} at {rate} and {rtt} ms, '
          f'buffer {queue}: half of a fair share, without harm.',
          {'L': link(rate, rtt, queue, **more)}, flows, f'{rtt} ms', goal=.85)


mixture('m01', '60 Mbit/s', 50, '1 bdp', ['cubic', 'bbr'])
mixture('m02', '60 Mbit/s', 50, '1 bdp', ['cubic', 'bbr3', 'copa'])
mixture('m03', '40 Mbit/s', 100, '2 bdp', ['newreno', 'bbr', 'copa'])
mixture('m04', '100 Mbit/s', 30, '0.5 bdp', ['cubic', 'newreno', 'bbr3'])
mixture('m05', '100 Mbit/s', 40, '4 bdp', ['cubic', 'bbr'], 3)
mixture('m06', '50 Mbit/s', 60, '1 bdp', ['cubic', 'vegas', 'bbr3'], loss='0.2 %')

for folder in (OUT, MORE):
    for file in os.listdir(folder):
        name = re.fullmatch(r'(.*)\.toml', file)
        if name and name[1] not in POINTS:
            os.remove(f'{folder}/{file}')
print(len(POINTS), 'points:', ', '.join(
    f'{cls} {sum(1 for c in POINTS.values() if c == cls)}' for cls in 'ABCDEFG' + ADDED))
