// SPDX-License-Identifier: GPL-2.0
/*
 * A network device of User Mode Linux whose packets and whose time belong to another program, and
 * one end of a TCP connection over it. build.sh compiles it into the kernel; it does nothing without
 * `link=` on the command line. crates/stacks/src/stack/linux.rs is the program.
 *
 * Both share a socket. Whenever this kernel has nothing to do at the present time, it sends what it
 * has (struct turn_out, then packets), and the time of its next timer. The program answers with the
 * time at which the kernel goes on, and the packets that arrive then (struct turn_in, then packets).
 * So the kernel's own TCP runs in the program's time, and it computes in no time.
 *
 *     link=FD            the socket
 *     link_near=0|1      the receiver, or the sender
 *     link_control=NAME  the congestion control (DCTCP needs it at both ends)
 *     link_window=BYTES  the receive window and the send buffer do not limit below this
 *
 * Packets are IPv4, without a frame. A packet in a message is its length, 4 bytes, and its bytes.
 */

#include <linux/inetdevice.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/time-internal.h>
#include <linux/wait.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <os.h>

#define PORT 5001
/* Room for packets that leave; when it is full, it is sent early. */
#define ROOM (256 << 10)
/* More than the packets of a turn, which are one or a few. */
#define ARRIVALS (1 << 20)
#define CHUNK (1 << 20)

/* From the program. */
struct turn_in {
	u32 length; /* of the packets that follow, bytes */
	u32 finish; /* the application writes nothing beyond `wanted` */
	u64 time; /* when to go on, ns since the link came up */
	u64 wanted; /* what the application writes in all, bytes */
};

/* To the program. */
struct turn_out {
	u32 length; /* of the packets that follow, bytes */
	u32 more; /* the kernel is not idle: another such message follows, and no answer is due */
	u64 time; /* now, ns since the link came up */
	u64 next; /* when it must go on, at the latest; U64_MAX: no timer */
	u64 moved; /* bytes that the application has written, or read */
	u32 connected, closed;
	u32 cwnd, ssthresh, in_flight; /* segments */
	u32 mss, srtt_us;
	u32 retransmitted; /* segments */
	u64 pacing; /* bytes/s */
	u32 timeouts, episodes;
};

static int link_fd = -1;
static int link_near, link_window = 64 << 20;
static char *link_control = "cubic";

static bool is_up;
static unsigned long long origin;
static struct net_device *device;
static struct socket *listener, *connection;
static u64 wanted, moved;
static bool finish, finished, connected, closed;
/* Whether the application has something new to do; at first, that is to connect. */
static bool changed = true;

static DECLARE_WAIT_QUEUE_HEAD(waiting);
static bool happened;
static void (*own_write_space)(struct sock *);

static struct {
	struct turn_out head;
	u8 packets[ROOM];
} out;
static u8 arrivals[ARRIVALS];
static u32 arrived;
static struct time_travel_event arrival;
static u8 zeros[CHUNK];

static int __init link_setup(char *text)
{
	return kstrtoint(text, 0, &link_fd) == 0;
}
__setup("link=", link_setup);

static int __init link_near_setup(char *text)
{
	return kstrtoint(text, 0, &link_near) == 0;
}
__setup("link_near=", link_near_setup);

static int __init link_control_setup(char *text)
{
	link_control = text;
	return 1;
}
__setup("link_control=", link_control_setup);

static int __init link_window_setup(char *text)
{
	return kstrtoint(text, 0, &link_window) == 0;
}
__setup("link_window=", link_window_setup);

/* The socket. The program ends this kernel by closing it. */

extern void _exit(int status) __noreturn;

static void put(const void *from, int length)
{
	while (length > 0) {
		int n = os_write_file(link_fd, from, length);

		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0)
			_exit(1);
		from += n;
		length -= n;
	}
}

static void get(void *to, int length)
{
	while (length > 0) {
		int n = os_read_file(link_fd, to, length);

		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0)
			_exit(1);
		to += n;
		length -= n;
	}
}

static void flush(bool more, u64 next)
{
	out.head.more = more;
	out.head.time = time_travel_now() - origin;
	out.head.next = next;
	put(&out, sizeof(out.head) + out.head.length);
	out.head.length = 0;
}

static u32 counter(int which)
{
	return snmp_fold_field(init_net.mib.net_statistics, which);
}

static void describe(void)
{
	struct turn_out *head = &out.head;
	struct sock *sk = connection ? connection->sk : NULL;
	struct tcp_sock *tp;

	head->moved = moved;
	head->connected = connected;
	head->closed = closed;
	if (!sk)
		return;
	tp = tcp_sk(sk);
	head->cwnd = tcp_snd_cwnd(tp);
	head->ssthresh = tp->snd_ssthresh;
	head->in_flight = tcp_packets_in_flight(tp);
	head->mss = tp->mss_cache;
	head->srtt_us = tp->srtt_us >> 3;
	head->retransmitted = tp->total_retrans;
	head->pacing = READ_ONCE(sk->sk_pacing_rate);
	head->timeouts = counter(LINUX_MIB_TCPTIMEOUTS);
	head->episodes = counter(LINUX_MIB_TCPSACKRECOVERY) +
			 counter(LINUX_MIB_TCPRENORECOVERY);
}

/* The kernel is idle until `next`, unless something arrives. Returns when it goes on. */
unsigned long long link_turn(unsigned long long next)
{
	struct turn_in in;
	unsigned long long time, now = time_travel_now();

	describe();
	flush(false, next >= S64_MAX ? U64_MAX : next - origin);
	get(&in, sizeof(in));
	if (in.length > sizeof(arrivals))
		_exit(1);
	get(arrivals, in.length);
	arrived = in.length;
	changed |= wanted != in.wanted || finish != in.finish;
	wanted = in.wanted;
	finish = in.finish;
	time = clamp(origin + in.time, now, next);
	if (time < next || arrived || changed)
		time_travel_add_event_rel(&arrival, time - now);
	return time;
}

bool link_is_up(void)
{
	return is_up;
}

static void wake(void)
{
	happened = true;
	wake_up(&waiting);
}

static void arrive(struct time_travel_event *event)
{
	u32 at = 0;

	while (at + sizeof(u32) <= arrived) {
		u32 length = *(u32 *)(arrivals + at);
		struct sk_buff *skb;

		at += sizeof(u32);
		if (length > arrived - at)
			break;
		skb = netdev_alloc_skb_ip_align(device, length);
		if (skb) {
			skb_put_data(skb, arrivals + at, length);
			skb->protocol = htons(ETH_P_IP);
			skb_reset_mac_header(skb);
			/* The device checks it, and no packet changes on its way. */
			skb->ip_summed = CHECKSUM_UNNECESSARY;
			netif_rx(skb);
		}
		at += ALIGN(length, sizeof(u32));
	}
	arrived = 0;
	if (changed)
		wake();
	changed = false;
}

/* The device. */

static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *dev)
{
	u32 length = skb->len, size = sizeof(u32) + ALIGN(length, sizeof(u32));

	if (out.head.length + size > ROOM)
		flush(true, 0);
	if (size <= ROOM) {
		u8 *to = out.packets + out.head.length;

		*(u32 *)to = length;
		if (skb_copy_bits(skb, 0, to + sizeof(u32), length) == 0)
			out.head.length += size;
	}
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops operations = {
	.ndo_start_xmit = transmit,
};

static void prepare(struct net_device *dev)
{
	dev->netdev_ops = &operations;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP;
	dev->mtu = ETH_DATA_LEN;
	dev->tx_queue_len = 0;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->hw_features = dev->features;
}

static __be32 address(int end)
{
	return htonl(0x0a000000 + end);
}

static int give(unsigned int command, __be32 value)
{
	struct ifreq request = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&request.ifr_addr;

	strscpy(request.ifr_name, device->name, IFNAMSIZ);
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = value;
	return devinet_ioctl(&init_net, command, &request);
}

static int __init plug(void)
{
	int error;

	device = alloc_netdev(0, "link%d", NET_NAME_ENUM, prepare);
	if (!device)
		return -ENOMEM;
	error = register_netdev(device);
	if (error)
		return error;
	error = give(SIOCSIFADDR, address(link_near ? 1 : 2));
	if (!error)
		error = give(SIOCSIFNETMASK, htonl(0xffffff00));
	if (error)
		return error;
	rtnl_lock();
	error = dev_change_flags(device, device->flags | IFF_UP, NULL);
	rtnl_unlock();
	return error;
}

/* The application. */

static void on_readable(struct sock *sk)
{
	wake();
}

static void on_change(struct sock *sk)
{
	wake();
}

static void on_space(struct sock *sk)
{
	own_write_space(sk);
	wake();
}

static void watch(struct sock *sk)
{
	sk->sk_data_ready = on_readable;
	sk->sk_state_change = on_change;
	own_write_space = sk->sk_write_space;
	sk->sk_write_space = on_space;
}

static struct sockaddr_in port(int end)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	in.sin_addr.s_addr = end ? address(end) : 0;
	return in;
}

static int __init begin(void)
{
	struct sockaddr_in any = port(0);
	struct socket *made;
	int error = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &made);

	if (error)
		return error;
	error = made->ops->setsockopt(made, SOL_TCP, TCP_CONGESTION,
				      KERNEL_SOCKPTR(link_control), strlen(link_control));
	if (error)
		return error;
	watch(made->sk);
	if (link_near) {
		connection = made;
		return 0;
	}
	sock_set_rcvbuf(made->sk, link_window);
	error = kernel_bind(made, (struct sockaddr *)&any, sizeof(any));
	if (!error)
		error = kernel_listen(made, 1);
	listener = made;
	return error;
}

static void send(void)
{
	struct sockaddr_in to = port(2);
	int state = connection->sk->sk_state;

	if (!connected && state == TCP_CLOSE && !closed) {
		int error = kernel_connect(connection, (struct sockaddr *)&to, sizeof(to),
					   O_NONBLOCK);

		closed = error && error != -EINPROGRESS;
		return;
	}
	connected |= state == TCP_ESTABLISHED;
	closed |= connected && (state == TCP_CLOSE || connection->sk->sk_err);
	while (connected && !closed && moved < wanted) {
		struct kvec data = { zeros, min_t(u64, wanted - moved, CHUNK) };
		struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		int n = kernel_sendmsg(connection, &message, &data, 1, data.iov_len);

		if (n <= 0) {
			closed |= n != -EAGAIN;
			break;
		}
		moved += n;
	}
	if (finish && !finished && connected && moved >= wanted) {
		finished = true;
		kernel_sock_shutdown(connection, SHUT_WR);
	}
}

static void receive(void)
{
	if (!connection && kernel_accept(listener, &connection, O_NONBLOCK) < 0)
		return;
	connected = true;
	while (!closed) {
		/* Data is dropped instead of copied, as MSG_TRUNC says. */
		struct kvec none = { zeros, 1 << 30 };
		struct msghdr message = { .msg_flags = MSG_DONTWAIT | MSG_TRUNC };
		int n = kernel_recvmsg(connection, &message, &none, 1, none.iov_len,
				       message.msg_flags);

		if (n <= 0) {
			closed |= n != -EAGAIN;
			break;
		}
		moved += n;
	}
	/* The peer has ended: so does this end. */
	if (closed && !finished) {
		finished = true;
		kernel_sock_shutdown(connection, SHUT_RDWR);
	}
}

/* The last thing that the kernel does at its start: it has no other program. */
static int __init link_main(void)
{
	struct net *net = &init_net;
	int error;

	if (link_fd < 0)
		return 0;
	time_travel_set_event_fn(&arrival, arrive);
	/* Buffers that limit nothing. */
	sysctl_rmem_max = sysctl_wmem_max = INT_MAX;
	net->ipv4.sysctl_tcp_rmem[2] = net->ipv4.sysctl_tcp_wmem[2] = 4 * link_window;
	sysctl_tcp_mem[0] = sysctl_tcp_mem[1] = sysctl_tcp_mem[2] = LONG_MAX / PAGE_SIZE;
	error = plug();
	if (!error)
		error = begin();
	if (error)
		panic("link: error %d\n", error);
	origin = time_travel_now();
	is_up = true;
	for (;;) {
		/* The first turn says when the application begins. */
		wait_event(waiting, happened);
		happened = false;
		if (link_near)
			send();
		else
			receive();
	}
	return 0;
}
late_initcall_sync(link_main);
