"""The two ends of one run of linux.py: a sender and a receiver of endless data over TCP. They run
in the namespaces of `whimbrel link`, and import little: they are started thousands of times."""

import socket
import sys
import time

PORT = 5001
FAR = "10.77.0.2"
# The sender goes on for this time after the receiver has stopped counting.
MARGIN = 0.3
# The receive window, bytes: the simulator's too. It is at least three times what path and queue
# hold. Otherwise the kernel lets it grow with the data, and an algorithm that never reduces its
# window has no other limit.
WINDOW = 4 << 20
# The kernel doubles it; half of that is the window.
SO_RCVBUFFORCE = 33
# It waits for the receiver for this time: a busy machine starts programs late.
PATIENCE = 10


def receive(path, seconds, rtt):
    """Counts the bytes that arrive until `seconds` after the sender's SYN, and writes the number to
    a file. The connection is accepted one and a half round trips after the SYN."""
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, WINDOW)
        server.bind(("0.0.0.0", PORT))
        server.listen()
        connection, _ = server.accept()
        end = time.monotonic() + seconds - 1.5 * rtt
        count = 0
        while (left := end - time.monotonic()) > 0:
            connection.settimeout(left)
            try:
                data = connection.recv(1 << 16)
            except TimeoutError:
                break
            if not data:
                sys.exit("the sender ended early")
            count += len(data)
        with open(path, "w") as file:
            file.write(str(count))
        # An early end would reset the connection while the sender still sends.
        connection.settimeout(None)
        while connection.recv(1 << 16):
            pass


def send(name, seconds):
    """Sends for this time with the kernel's congestion control of this name; "-": the network's."""
    with socket.socket() as connection:
        if name != "-":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        patience = time.monotonic() + PATIENCE
        while connection.connect_ex((FAR, PORT)):
            # The receiver has not started yet.
            if time.monotonic() > patience:
                sys.exit("there is no receiver")
            time.sleep(0.05)
        end = time.monotonic() + seconds + MARGIN
        connection.settimeout(0.1)
        data = bytes(1 << 16)
        while time.monotonic() < end:
            try:
                connection.send(data)
            except TimeoutError:
                pass


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
    else:
        send(sys.argv[2], float(sys.argv[3]))
