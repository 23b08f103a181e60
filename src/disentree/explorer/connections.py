"""Limits on connections, so that slow clients cannot lock others out.

By itself uvicorn waits without end for the rest of a request's head, and accepts any number of clients. Here a
head must be complete within seconds, and beyond a number of connections the longest quiet one is closed.
"""

from __future__ import annotations

import asyncio
from typing import Any

HEAD_SECONDS = 10.0
MAX_CONNECTIONS = 2000


def limited_connections(max_connections: int = MAX_CONNECTIONS, head_seconds: float = HEAD_SECONDS) -> type[Any]:
    """A protocol class for uvicorn's `http` setting, with a register of its own: so many connections at the same
    time (at most half of the files that this process may open), and seconds for the head of a request."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    connections: dict[Any, None] = {}  # the longest quiet first
    limit = min(max_connections, _file_limit() // 2)

    base: Any = AutoHTTPProtocol  # one of two classes, by what is installed

    class LimitedConnection(base):
        _head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            connections[self] = None
            self._expect_head()
            if len(connections) > limit:
                quiet = next(iter(connections))
                del connections[quiet]
                quiet.transport.abort()

        def data_received(self, data: bytes) -> None:
            if self in connections:
                connections[self] = connections.pop(self)  # to the end
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._expect_head()
            else:
                self._stop_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(self, None)
            self._stop_timer()
            super().connection_lost(exc)

        def _expect_head(self) -> None:
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(head_seconds, self.transport.abort)

        def _stop_timer(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return LimitedConnection


def _file_limit() -> int:
    """How many files this process may open, after raising the limit as far as it goes."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 2 * MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MAX_CONNECTIONS
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, raised), hard))
    except (ValueError, OSError):
        return soft
    return max(soft, raised)
