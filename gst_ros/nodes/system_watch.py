"""Waiting for other nodes without losing sight of them.

All waiting is on a condition that callbacks of a spinning thread notify. Twice a second the watch looks
whether the nodes are still there, so a dead node is named within seconds and a slow one is left in peace:
what counts is that its status is heard, not how long its work takes.
"""

from __future__ import annotations

import collections
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rclpy.client import Client
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from gst_ros.errors import SessionError

LOOK_PERIOD_S = 0.5
EARLY_S = 10.0
"""For so long after the nodes were found, a second system is still looked for: a busy machine discovers slowly."""
STATUS_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Peer:
    """One node that is depended upon: its services, and its status topic as a sign of life.

    Args:
        watch: Who spins and waits.
        name: The node's name, as it is called from the watching node's namespace.
        status_type: Message type of its topic ``~/status``.
    """

    def __init__(self, watch: SystemWatch, name: str, status_type: Any) -> None:
        self.name = name
        self.status: Any = None
        self.heard_at = 0.0
        self.clients: list[Client] = []
        self._watch = watch
        self.returns = 0  # how often it has come back after it had vanished
        self._missing_since: float | None = None
        watch.node.create_subscription(status_type, f"{name}/status", self._on_status, STATUS_QOS)

    def client(self, service_type: Any, service: str) -> Client:
        """A client of one of its services; the service is then one that the node must have."""
        client: Client = self._watch.node.create_client(service_type, f"{self.name}/{service}")
        self.clients.append(client)
        return client

    def missing(self) -> str | None:
        """What is not there yet, for people; None when all is."""
        for client in self.clients:
            if not client.service_is_ready():
                return f"service {client.service_name} of node {self.name} is not there"
        if self.status is None:
            return f"node {self.name} publishes no status"
        return None

    def check_alive(self, silence_timeout_s: float, grace_s: float) -> None:
        """Look whether it is still there.

        Args:
            silence_timeout_s: How long its status may stay away.
            grace_s: How long its services may stay away.

        Raises:
            SessionError: A service has vanished, or its status has not been heard, for too long.
        """
        now = time.monotonic()
        gone = next((client.service_name for client in self.clients if not client.service_is_ready()), None)
        if gone is None:
            if self._missing_since is not None:
                self.returns += 1
                self._watch.node.get_logger().warning(
                    f"node {self.name} is back after {now - self._missing_since:.0f} s; what was lost meanwhile is"
                    " asked for again"
                )
            self._missing_since = None
        elif self._missing_since is None:
            self._missing_since = now
        elif now - self._missing_since >= max(grace_s, LOOK_PERIOD_S):  # one look may be a hiccup of discovery
            raise SessionError(
                f"node {self.name} is gone: its service {gone} has vanished",
                remedy="it died, or was suspended for longer than node_grace_s",
            )
        silence_s = now - self.heard_at
        if silence_s > silence_timeout_s:
            raise SessionError(
                f"node {self.name} has been silent for {silence_s:.0f} s",
                remedy="it died or hangs; see its log, or raise silence_timeout_s",
            )

    def _on_status(self, message: Any) -> None:
        self.status = message
        self.heard_at = time.monotonic()
        self._watch.notify()


class _Early(NamedTuple):
    """The nodes of a system that was complete a moment ago, and until when another one is looked for."""

    peers: Sequence[Peer]
    until: float


class SystemWatch:
    """Spins a node in a thread of its own and waits for its peers.

    Args:
        node: The node to speak through.
        silence_timeout_s: How long a peer's status may stay away.
        grace_s: How long a peer's services may stay away.
    """

    def __init__(self, node: Node, silence_timeout_s: float, grace_s: float = 0.0) -> None:
        self.node = node
        self._changed = threading.Condition()
        self._news = 0  # counts notifications
        self._silence_timeout_s = silence_timeout_s
        self._grace_s = grace_s
        self._failure: BaseException | None = None
        self._early: _Early | None = None
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._spinner = threading.Thread(target=self._spin, name="spin", daemon=True)

    def start(self) -> None:
        """Begin to spin; to be called once, after the peers are made."""
        self._spinner.start()

    def close(self) -> None:
        """Stop spinning. May be called twice."""
        self._executor.shutdown(timeout_sec=2.0)
        if self._spinner.is_alive():
            self._spinner.join(timeout=2.0)

    def wait_until_complete(
        self, peers: Sequence[Peer], image_topic: str, timeout_s: float, stable_s: float = 0.0
    ) -> None:
        """Wait until all peers are there, once each, and one publisher feeds the image topic.

        Args:
            peers: The nodes that are needed.
            image_topic: Where frames go from one to the other.
            timeout_s: How long to wait.
            stable_s: How long it must stay so. Discovery takes a moment to find a second system.

        Raises:
            SessionError: One is missing, or there are two of a kind on this ROS domain.
        """
        deadline = time.monotonic() + timeout_s
        complete_since: float | None = None
        while True:
            missing = [what for what in (peer.missing() for peer in peers) if what]
            trouble = missing or self._wrong_numbers(peers, image_topic)
            now = time.monotonic()
            if trouble:
                complete_since = None
                if now > deadline:
                    raise SessionError(f"{trouble[0]} (waited {timeout_s:g} s)", remedy=_domain_remedy())
            else:
                complete_since = now if complete_since is None else complete_since
                if now - complete_since >= stable_s:
                    self._early = self._early or _Early(peers, until=now + EARLY_S)
                    return
            # The graph gives no sign when it changes, so it is looked at a few times a second.
            with self._changed:
                self._changed.wait(0.1)
            self._raise_failure()

    def wait(self, done: Callable[[], bool], peers: Sequence[Peer], what: str, timeout_s: float = float("inf")) -> None:
        """Wait until ``done()``; it is asked after every message and twice a second.

        Args:
            done: The condition.
            peers: The nodes without which it cannot come true.
            what: Names it in the error text.
            timeout_s: How long to wait.

        Raises:
            SessionError: A peer died or fell silent, or the time is up.
        """
        deadline = time.monotonic() + timeout_s
        next_look = time.monotonic() + LOOK_PERIOD_S
        seen = -1
        while not done():
            with self._changed:
                # What came in while done() was being asked must not be waited for.
                if self._news == seen:
                    self._changed.wait(min(LOOK_PERIOD_S, max(0.0, deadline - time.monotonic())))
                seen = self._news
            self._raise_failure()
            now = time.monotonic()
            if now >= next_look:
                next_look = now + LOOK_PERIOD_S
                for peer in peers:
                    peer.check_alive(self._silence_timeout_s, self._grace_s)
                self._look_for_a_second_system()
            if now >= deadline:
                raise SessionError(f"{what} took more than {timeout_s:g} s")

    def call(self, peer: Peer, client: Client, request: Any, timeout_s: float) -> Any:
        """Call a service and wait for its answer; ask again when the peer was away meanwhile.

        Raises:
            SessionError: The peer died or fell silent, or there is no answer in time.
        """

        def send() -> Any:
            sent = client.call_async(request)
            sent.add_done_callback(lambda _: self.notify())
            return sent

        future, returns = send(), peer.returns

        def answered() -> bool:
            nonlocal future, returns
            if not future.done() and peer.returns != returns:
                # Request or answer may have been lost while middleware took the peer for dead.
                client.remove_pending_request(future)
                future, returns = send(), peer.returns
            return bool(future.done())

        try:
            self.wait(answered, [peer], f"service {client.service_name} of node {peer.name}", timeout_s)
        except BaseException:
            client.remove_pending_request(future)
            raise
        return future.result()

    def _look_for_a_second_system(self) -> None:
        """Raise SessionError if a second one has been discovered soon after the start."""
        # A peer that died and came back is seen twice for a while.
        if self._early is None or any(peer.missing() or peer.returns for peer in self._early.peers):
            return
        twins = self._twins(self._early.peers) if time.monotonic() < self._early.until else []
        if twins:
            raise SessionError(twins[0], remedy=_domain_remedy())

    def _twins(self, peers: Sequence[Peer]) -> list[str]:
        """Peers that are there more than once. A node killed just now may haunt the domain for 20 s."""
        node = self.node
        counts = collections.Counter(
            f"{namespace.rstrip('/')}/{name}" for name, namespace in node.get_node_names_and_namespaces()
        )
        names = [f"{node.get_namespace().rstrip('/')}/{peer.name}" for peer in peers]
        return [f"there are {counts[name]} nodes named {name}" for name in names if counts[name] > 1]

    def _wrong_numbers(self, peers: Sequence[Peer], image_topic: str) -> list[str]:
        """Signs of a second system on the same ROS domain, or of a stream that nobody sends or takes."""
        twins = self._twins(peers)
        if twins:
            return twins
        node = self.node
        topic = node.resolve_topic_name(image_topic)
        publishers = node.get_publishers_info_by_topic(topic)
        if len(publishers) != 1:
            who = sorted(f"{p.node_namespace.rstrip('/')}/{p.node_name}" for p in publishers)
            return [
                f"topic {topic} has {len(publishers)} publishers instead of one"
                + (f" ({', '.join(who)})" if who else "")
            ]
        if not node.count_subscribers(topic) and not node.count_subscribers(f"{topic}/compressed"):
            return [f"nobody subscribes to topic {topic} or {topic}/compressed"]
        return []

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException as error:
            self._failure = SessionError(f"ROS was shut down under the evaluator ({error})")
        except BaseException as error:  # handed to the waiting thread, which raises it
            self._failure = error
        self.notify()

    def notify(self) -> None:
        """Wake the waiting thread: something has come in."""
        with self._changed:
            self._news += 1
            self._changed.notify_all()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def _domain_remedy() -> str:
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    return (
        f"does another evaluation or camera run on ROS domain {domain}? Wait for its end, or set ROS_DOMAIN_ID to"
        " another number; 'ros2 node list' shows who is there"
    )
