/* The only program inside the User Mode Linux of linux_virtual.py: its init, linked statically.
 *
 * It lays a path through four network namespaces, sends endless data over it under one of the
 * kernel's congestion controls, writes what arrived, and switches the machine off:
 *
 *     sender -- router: rate and buffer -- router: loss and delay -- receiver
 *
 * and the same back, without loss. The queue and the delay are in separate namespaces because
 * netem's limit also counts packets in its delay line, and both are outside of the sender's
 * namespace because TCP notices what a queue of its own host drops. There is no ARP: both ends of a
 * link have the same address.
 *
 * The machine has one processor, so one thing happens at a time. Arguments are KEY=VALUE, all
 * required; see `main()`. The result, in lines:
 *
 *     flow NUMBER BYTES START_NS RETRANSMISSIONS     bytes in order at the receiver
 *     timeouts NUMBER                                of all flows
 *     sample TIME_NS NUMBER CWND SSTHRESH RTT_US UNACKED SACKED LOST RETRANSMITTED STATE
 *     done
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/veth.h>
#include <net/if.h>
#include <net/route.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A packet's Ethernet header, which netem counts and the path does not. */
#define ETHERNET 14
#define PORT 5001
/* At most so many flows; linux_virtual.py has fewer. */
#define FLOWS 64
/* A limit that nothing reaches. */
#define UNLIMITED 1000000

enum { SENDER, QUEUE, DELAY, RECEIVER, SPACES };

struct settings {
    const char *result;    /* a file */
    const char *algorithm; /* the kernel's name */
    int flows;
    double seconds;
    double rate;   /* bit/s */
    double rtt;    /* s */
    int buffer;    /* packets, without the one in service */
    double loss;   /* 0 to 1, of the data */
    int window;    /* the receive window, bytes */
    double starts; /* flows start within this time, s */
    uint64_t draw; /* the starts' seed */
    double sample; /* interval of samples, s; 0: none */
};

struct flow {
    int listener, from; /* sockets */
    volatile int to;    /* -1: no connection yet */
    int64_t start;      /* since the run's, ns */
};

static struct settings set;
static struct flow flows[FLOWS];
static int spaces[SPACES];
static FILE *result;
static char data[1 << 20];
/* When the run began, by the kernel's clock, ns. */
static int64_t begin;

static void off(void)
{
    if (result)
        fclose(result);
    sync();
    reboot(RB_POWER_OFF);
}

static void fail(const char *format, ...)
{
    int error = errno;
    va_list arguments;

    va_start(arguments, format);
    if (result) {
        fprintf(result, "failed ");
        vfprintf(result, format, arguments);
        fprintf(result, ": %s\n", strerror(error));
    }
    va_end(arguments);
    off();
}

static int checked(int answer, const char *what)
{
    if (answer < 0)
        fail("%s", what);
    return answer;
}

static void enter(int space)
{
    checked(setns(spaces[space], CLONE_NEWNET), "setns");
}

static void put(const char *path, const char *text)
{
    int file = checked(open(path, O_WRONLY), path);

    checked(write(file, text, strlen(text)), path);
    close(file);
}

/* Netlink: a message that grows by attributes. */

struct message {
    struct nlmsghdr head;
    char body[1024];
};

static struct rtattr *add(struct message *message, int type, const void *data, int length)
{
    char *end = (char *)message + NLMSG_ALIGN(message->head.nlmsg_len);
    struct rtattr *attribute = (struct rtattr *)end;

    attribute->rta_type = type;
    attribute->rta_len = RTA_LENGTH(length);
    if (length)
        memcpy(RTA_DATA(attribute), data, length);
    message->head.nlmsg_len = NLMSG_ALIGN(message->head.nlmsg_len) + RTA_ALIGN(RTA_LENGTH(length));
    return attribute;
}

static void end(struct message *message, struct rtattr *attribute)
{
    attribute->rta_len = (char *)message + message->head.nlmsg_len - (char *)attribute;
}

static void request(struct message *message, const char *what)
{
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[2048];
    } answer;
    int socket_ = checked(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "netlink");

    message->head.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
    checked(send(socket_, message, message->head.nlmsg_len, 0), what);
    checked(recv(socket_, &answer, sizeof(answer), 0), what);
    if (answer.head.nlmsg_type == NLMSG_ERROR && answer.error.error) {
        errno = -answer.error.error;
        fail("%s", what);
    }
    close(socket_);
}

/* A pair of devices: `left` in the namespace `a`, `right` in `b`. */
static void veth(int a, int b, const char *left, const char *right)
{
    static const unsigned char mac[6] = { 2, 0, 0, 0, 0, 1 };
    struct message message = { 0 };
    struct ifinfomsg peer = { 0 };
    struct rtattr *info, *data, *other;

    message.head.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg));
    message.head.nlmsg_type = RTM_NEWLINK;
    message.head.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL;
    add(&message, IFLA_IFNAME, left, strlen(left) + 1);
    add(&message, IFLA_ADDRESS, mac, sizeof(mac));
    info = add(&message, IFLA_LINKINFO, NULL, 0);
    add(&message, IFLA_INFO_KIND, "veth", 4);
    data = add(&message, IFLA_INFO_DATA, NULL, 0);
    other = add(&message, VETH_INFO_PEER, &peer, sizeof(peer));
    add(&message, IFLA_IFNAME, right, strlen(right) + 1);
    add(&message, IFLA_ADDRESS, mac, sizeof(mac));
    add(&message, IFLA_NET_NS_FD, &spaces[b], sizeof(int));
    end(&message, other);
    end(&message, data);
    end(&message, info);
    enter(a);
    request(&message, "veth");
}

static struct sockaddr address(const char *text, int port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr any;

    inet_aton(text, &in.sin_addr);
    memcpy(&any, &in, sizeof(any));
    return any;
}

/* One segment is one packet: no offloads. Then up, without ARP. */
static void up(int space, const char *device, const char *ip)
{
    static const int offloads[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
    struct ethtool_value none = { .data = 0 };
    struct ifreq request_ = { 0 };
    int socket_;

    enter(space);
    socket_ = checked(socket(AF_INET, SOCK_DGRAM, 0), "socket");
    strcpy(request_.ifr_name, device);
    for (size_t i = 0; i < sizeof(offloads) / sizeof(*offloads); i++) {
        none.cmd = offloads[i];
        request_.ifr_data = (char *)&none;
        checked(ioctl(socket_, SIOCETHTOOL, &request_), "ethtool");
    }
    request_.ifr_addr = address(ip, 0);
    checked(ioctl(socket_, SIOCSIFADDR, &request_), "address");
    request_.ifr_addr = address("255.255.255.0", 0);
    checked(ioctl(socket_, SIOCSIFNETMASK, &request_), "netmask");
    request_.ifr_flags = IFF_UP | IFF_NOARP;
    checked(ioctl(socket_, SIOCSIFFLAGS, &request_), "up");
    close(socket_);
}

static void route(int space, const char *gateway)
{
    struct rtentry entry = { .rt_flags = RTF_UP | RTF_GATEWAY };
    int socket_;

    enter(space);
    socket_ = checked(socket(AF_INET, SOCK_DGRAM, 0), "socket");
    entry.rt_gateway = address(gateway, 0);
    entry.rt_dst = entry.rt_genmask = address("0.0.0.0", 0);
    checked(ioctl(socket_, SIOCADDRT, &entry), "route");
    close(socket_);
}

/* The qdisc of a device: netem, with a rate in bytes/s (0: none), a delay in s, a loss. */
static void netem(int space, const char *device, double rate, int limit, double delay, double loss)
{
    struct message message = { 0 };
    struct tcmsg *tc = NLMSG_DATA(&message.head);
    struct tc_netem_qopt options = { 0 };
    struct tc_netem_rate limited = { .packet_overhead = -ETHERNET };
    int64_t nanoseconds = delay * 1e9 + 0.5;
    struct rtattr *attributes;

    options.limit = limit;
    options.loss = loss * UINT32_MAX + 0.5;
    limited.rate = rate + 0.5;
    enter(space);
    message.head.nlmsg_len = NLMSG_LENGTH(sizeof(*tc));
    message.head.nlmsg_type = RTM_NEWQDISC;
    message.head.nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE;
    tc->tcm_ifindex = checked((int)if_nametoindex(device) ?: -1, device);
    tc->tcm_parent = TC_H_ROOT;
    add(&message, TCA_KIND, "netem", 6);
    attributes = add(&message, TCA_OPTIONS, &options, sizeof(options));
    if (limited.rate)
        add(&message, TCA_NETEM_RATE, &limited, sizeof(limited));
    if (nanoseconds)
        add(&message, TCA_NETEM_LATENCY64, &nanoseconds, sizeof(nanoseconds));
    end(&message, attributes);
    request(&message, "netem");
}

static void path(void)
{
    for (int space = 0; space < SPACES; space++) {
        checked(unshare(CLONE_NEWNET), "unshare");
        spaces[space] = checked(open("/proc/thread-self/ns/net", O_RDONLY), "namespace");
    }
    veth(SENDER, QUEUE, "s", "q0");
    veth(QUEUE, DELAY, "q1", "d0");
    veth(DELAY, RECEIVER, "d1", "r");
    up(SENDER, "s", "10.0.0.1");
    up(QUEUE, "q0", "10.0.0.2");
    up(QUEUE, "q1", "10.0.1.1");
    up(DELAY, "d0", "10.0.1.2");
    up(DELAY, "d1", "10.0.2.1");
    up(RECEIVER, "r", "10.0.2.2");
    route(SENDER, "10.0.0.2");
    route(QUEUE, "10.0.1.2");
    route(DELAY, "10.0.1.1");
    route(RECEIVER, "10.0.2.1");
    enter(QUEUE);
    put("/proc/sys/net/ipv4/ip_forward", "1");
    enter(DELAY);
    put("/proc/sys/net/ipv4/ip_forward", "1");
    /* netem's limit counts the packet in service too. */
    netem(QUEUE, "q1", set.rate / 8, set.buffer + 1, 0, 0);
    netem(DELAY, "d1", 0, UNLIMITED, set.rtt / 2, set.loss);
    netem(DELAY, "d0", set.rate / 8, set.buffer + 1, 0, 0);
    netem(QUEUE, "q0", 0, UNLIMITED, set.rtt / 2, 0);
}

/* The run. */

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Sleeps until a time of the run. */
static void until(int64_t time)
{
    struct timespec at;

    time += begin;
    at.tv_sec = time / 1000000000;
    at.tv_nsec = time % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
        ;
}

/* The sockets of a flow, each in its namespace. */
static void prepare(struct flow *flow)
{
    struct sockaddr any = address("0.0.0.0", PORT + (flow - flows));
    const char *name = set.algorithm;

    enter(RECEIVER);
    flow->listener = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
    /* The kernel doubles it; half of that is the window. */
    checked(setsockopt(flow->listener, SOL_SOCKET, SO_RCVBUFFORCE, &set.window, sizeof(int)),
        "window");
    checked(bind(flow->listener, &any, sizeof(any)), "bind");
    checked(listen(flow->listener, 1), "listen");
    enter(SENDER);
    flow->from = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
    checked(setsockopt(flow->from, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name)), name);
}

/* Reads data as it arrives, as an application would. The kernel drops it instead of copying it, and
 * one call reads 64 MiB, because changing between kernel and program is slow here. */
static void *receive(void *flow_)
{
    struct flow *flow = flow_;

    flow->to = checked(accept(flow->listener, NULL, NULL), "accept");
    while (recv(flow->to, NULL, 1 << 26, MSG_TRUNC | MSG_WAITALL) > 0)
        ;
    fail("recv");
    return NULL;
}

static void *deliver(void *flow_)
{
    struct flow *flow = flow_;
    struct sockaddr to = address("10.0.2.2", PORT + (flow - flows));

    until(flow->start);
    checked(connect(flow->from, &to, sizeof(to)), "connect");
    while (send(flow->from, data, sizeof(data), MSG_NOSIGNAL) > 0)
        ;
    fail("send");
    return NULL;
}

static struct tcp_info info(int socket_)
{
    struct tcp_info state = { 0 };
    socklen_t length = sizeof(state);

    checked(getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &state, &length), "TCP_INFO");
    return state;
}

static void sample(int64_t time)
{
    for (int i = 0; i < set.flows; i++) {
        struct tcp_info state = info(flows[i].from);

        fprintf(result, "sample %lld %d %u %u %u", (long long)time, i, state.tcpi_snd_cwnd,
            state.tcpi_snd_ssthresh, state.tcpi_rtt);
        fprintf(result, " %u %u %u %u %u\n", state.tcpi_unacked, state.tcpi_sacked,
            state.tcpi_lost, state.tcpi_retrans, state.tcpi_ca_state);
    }
}

/* The number under this name in the sender's /proc/net/netstat: a line of names, one of numbers. */
static long counter(const char *name)
{
    static char names[1 << 14], values[1 << 14];
    FILE *file;
    long value = -1;

    enter(SENDER);
    file = fopen("/proc/thread-self/net/netstat", "r");
    if (!file)
        fail("netstat");
    while (value < 0 && fgets(names, sizeof(names), file) && fgets(values, sizeof(values), file)) {
        char *left, *right;
        char *a = strtok_r(names, " \n", &left), *b = strtok_r(values, " \n", &right);

        for (; a && b; a = strtok_r(NULL, " \n", &left), b = strtok_r(NULL, " \n", &right))
            if (!strcmp(a, name))
                value = atol(b);
    }
    fclose(file);
    return value;
}

/* xorshift64*, uniform from 0 to 1 */
static double uniform(void)
{
    set.draw ^= set.draw >> 12;
    set.draw ^= set.draw << 25;
    set.draw ^= set.draw >> 27;
    return (set.draw * 0x2545f4914f6cdd1dull >> 11) * 0x1p-53;
}

static void run(void)
{
    int64_t stop = set.seconds * 1e9, step = set.sample * 1e9;
    pthread_t thread;

    begin = now();
    for (int i = 0; i < set.flows; i++) {
        flows[i].to = -1;
        flows[i].start = uniform() * set.starts * 1e9;
        prepare(&flows[i]);
        if (pthread_create(&thread, NULL, receive, &flows[i]) ||
            pthread_create(&thread, NULL, deliver, &flows[i]))
            fail("pthread_create");
    }
    for (int64_t time = step; step && time < stop; time += step) {
        until(time);
        sample(time);
    }
    until(stop);
    for (int i = 0; i < set.flows; i++) {
        uint64_t received = flows[i].to < 0 ? 0 : info(flows[i].to).tcpi_bytes_received;

        fprintf(result, "flow %d %llu %lld %u\n", i, (unsigned long long)received,
            (long long)flows[i].start, info(flows[i].from).tcpi_total_retrans);
    }
    fprintf(result, "timeouts %ld\n", counter("TCPTimeouts"));
    fprintf(result, "done\n");
}

/* The arguments. */

static const char *text(int count, char **arguments, const char *key)
{
    size_t length = strlen(key);

    for (int i = 1; i < count; i++)
        if (!strncmp(arguments[i], key, length) && arguments[i][length] == '=')
            return arguments[i] + length + 1;
    errno = EINVAL;
    fail("there is no argument %s=", key);
    return NULL;
}

static double number(int count, char **arguments, const char *key, double least, double greatest)
{
    const char *from = text(count, arguments, key);
    char *rest;
    double value = strtod(from, &rest);

    if (rest == from || *rest || !(value >= least && value <= greatest)) {
        errno = ERANGE;
        fail("%s=%s", key, from);
    }
    return value;
}

int main(int count, char **arguments)
{
    set.result = text(count, arguments, "result");
    result = fopen(set.result, "w");
    set.algorithm = text(count, arguments, "algorithm");
    set.flows = number(count, arguments, "flows", 1, FLOWS);
    set.seconds = number(count, arguments, "seconds", 0.1, 86400);
    set.rate = number(count, arguments, "rate", 8000, 1e11);
    set.rtt = number(count, arguments, "rtt", 0, 10);
    set.buffer = number(count, arguments, "buffer", 0, UNLIMITED);
    set.loss = number(count, arguments, "loss", 0, 1);
    set.window = number(count, arguments, "window", 4096, 1 << 29);
    set.starts = number(count, arguments, "starts", 0, set.seconds / 2);
    set.draw = number(count, arguments, "draw", 1, 1e15);
    set.sample = number(count, arguments, "sample", 0, 86400);
    checked(mount("proc", "/proc", "proc", 0, NULL), "/proc");
    path();
    run();
    off();
}
