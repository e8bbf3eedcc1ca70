"""The two ends of one run of points.py over TCP: one receiver of all connections, and a sender for
each. They run in the namespaces of `whimbrel link`, on one machine, so their clocks are the same.

    points_ends.py receive FILE.json CONNECTIONS
    points_ends.py send NAME NUMBER SIZE FILE.json

NAME is the kernel's congestion control, `-` the network's. NUMBER 0 is the flow under test. It
sends SIZE bytes and waits until the receiver has them; the others, whose size is 0, send until they
are killed. FILE.json of the receiver has, for each connection, when how many bytes had arrived."""

import json
import os
import socket
import sys
import threading
import time

from linux_ends import FAR, PATIENCE, SO_RCVBUFFORCE, WINDOW

PORT = 5001
# Time between two entries of a connection's list, s.
STEP = 0.02


def whole(path, value):
    """Writes a file that is there only when it is complete."""
    with open(f"{path}.part", "w") as file:
        json.dump(value, file)
    os.rename(f"{path}.part", path)


def serve(server, number, arrivals, path):
    """Reads one connection. That of the flow under test ends the run."""
    connection, _ = server.accept()
    arrived = arrivals[number]
    count = 0
    while data := connection.recv(1 << 18):
        count += len(data)
        now = time.monotonic()
        if len(arrived) < 2 or now - arrived[-2][0] > STEP:
            arrived.append([now, count])
        else:
            arrived[-1] = [now, count]
    if number == 0:
        whole(path, arrivals)
    connection.close()


def receive(path, connections):
    arrivals = [[] for _ in range(connections)]
    for number in range(connections):
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, WINDOW)
        server.bind(("0.0.0.0", PORT + number))
        server.listen()
        arguments = (server, number, arrivals, path)
        threading.Thread(target=serve, args=arguments).start()


def send(name, number, size, path):
    with socket.socket() as connection:
        if name != "-":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        patience = time.monotonic() + PATIENCE
        while connection.connect_ex((FAR, PORT + number)):
            # The receiver has not started yet.
            if time.monotonic() > patience:
                sys.exit("there is no receiver")
            time.sleep(0.05)
        began = time.monotonic()
        data = memoryview(bytes(1 << 18))
        left = size or sys.maxsize
        while left:
            left -= connection.send(data[: min(left, len(data))])
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
        whole(path, {"began": began})


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2], int(sys.argv[3]))
    else:
        send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
