"""The one thread that writes: many small transactions in one, a savepoint each, so that one's failure is its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from atlas_sdk.errors import AtlasError, StorageError

from .engine import explained

BATCH = 256
Work = Callable[[Connection], Any]


class Alone:
    """Work that no transaction may stand around."""

    def __init__(self, work: Work) -> None:
        self.work = work


class Writer:
    """Runs work in transactions, in the order it came. A result is given only once it is on disk."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: queue.Queue[tuple[Work | Alone, Future[Any]] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="atlas-store-writer", daemon=True)
        self._closed = False
        self._thread.start()

    def submit(self, work: Work | Alone) -> Future[Any]:
        """Queue work; its future ends when the transaction it was part of is on disk, or with its error.

        What is ``Alone`` runs between transactions.
        """
        future: Future[Any] = Future()
        if self._closed:
            future.set_exception(StorageError("The store is closed.", code="store_closed"))
        else:
            self._queue.put((work, future))
        return future

    def close(self) -> None:
        """Finish what was queued and end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        ending = False
        while not ending:
            item = self._queue.get()
            batch: list[tuple[Work, Future[Any]]] = []
            alone: tuple[Alone, Future[Any]] | None = None
            while True:
                if item is None:
                    ending = True
                    break
                if isinstance(item[0], Alone):
                    alone = item[0], item[1]
                    break
                if item[1].set_running_or_notify_cancel():
                    batch.append((item[0], item[1]))
                if len(batch) >= BATCH:
                    break
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
            if batch:
                self._together(batch)
            if alone is not None and alone[1].set_running_or_notify_cancel():
                self._by_itself(*alone)

    def _by_itself(self, alone: Alone, future: Future[Any]) -> None:
        try:
            with self._engine.connect() as connection:
                result = alone.work(connection)
        except BaseException as error:  # noqa: BLE001  # the thread must outlive whatever the work raises
            future.set_exception(_said(error))
            return
        future.set_result(result)

    def _together(self, batch: list[tuple[Work, Future[Any]]]) -> None:
        """Run a batch in one transaction. When the whole of it fails, each is told so: nothing was written."""
        done: list[tuple[Future[Any], Any]] = []
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                try:
                    for work, future in batch:
                        self._one(connection, work, future, done)
                    connection.exec_driver_sql("COMMIT")
                except BaseException:
                    if _in_transaction(connection):
                        connection.exec_driver_sql("ROLLBACK")
                    raise
        except BaseException as error:  # noqa: BLE001  # the thread must outlive whatever one batch raises
            said = _said(error)
            for _, future in batch:
                if not future.done():
                    future.set_exception(said)
            return
        for future, result in done:
            future.set_result(result)

    def _one(
        self, connection: Connection, work: Work, future: Future[Any], done: list[tuple[Future[Any], Any]]
    ) -> None:
        connection.exec_driver_sql("SAVEPOINT one")
        try:
            result = work(connection)
        except BaseException as error:  # what the work raises is its caller's, also what would end a program
            if isinstance(error, SQLAlchemyError) and not _in_transaction(connection):
                raise  # SQLite has undone the whole transaction: a full disk, a damaged page
            connection.exec_driver_sql("ROLLBACK TO one")
            connection.exec_driver_sql("RELEASE one")
            future.set_exception(explained(error) if isinstance(error, SQLAlchemyError) else error)
            return
        connection.exec_driver_sql("RELEASE one")
        done.append((future, result))


def _said(error: BaseException) -> BaseException:
    return explained(error) if isinstance(error, Exception) and not isinstance(error, AtlasError) else error


def _in_transaction(connection: Connection) -> bool:
    return bool(getattr(connection.connection.dbapi_connection, "in_transaction", False))
