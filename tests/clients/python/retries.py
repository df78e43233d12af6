"""The retry policy: send the same bytes again while a response is lost, asks for it, or comes from a gateway that failed."""

import random
import time

import httpx

ATTEMPTS = 8


class Retries(httpx.HTTPTransport):
    def __init__(self, attempts: int = ATTEMPTS) -> None:
        super().__init__()
        self.attempts = attempts

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        for attempt in range(1, self.attempts):
            pause = 0.1 * 2**attempt
            try:
                response = super().handle_request(request)
                response.read()
                if not asks(response):
                    return response
                seconds = response.headers.get("Retry-After", "")
                pause = max(pause, float(seconds) if seconds.isdigit() else 0)
            except httpx.TransportError:
                pass  # Nobody knows whether the request took effect. Its key makes a retry safe.
            time.sleep(pause * random.uniform(1, 1.5))
        return super().handle_request(request)


def asks(response: httpx.Response) -> bool:
    """A problem of the service says whether it is retryable. Any other refusal is a gateway's."""
    if response.status_code < 400:
        return False
    try:
        return bool(response.json()["retryable"])
    except (ValueError, TypeError, KeyError):
        gateway = response.status_code >= 500 or response.status_code in (408, 425, 429)
        return gateway or "Retry-After" in response.headers
