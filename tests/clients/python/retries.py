"""The retry policy: while a response asks for it, or is lost, send the same bytes again."""

import time

import httpx

ATTEMPTS = 8


class Retries(httpx.HTTPTransport):
    """409, 429 and 503 with Retry-After: wait, and send the same bytes. Every other response, a 409 without it too: stop."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        for attempt in range(ATTEMPTS):
            pause = 0.2 * 2**attempt
            try:
                response = super().handle_request(request)
                response.read()
                asks = response.status_code in (409, 429, 503) and "Retry-After" in response.headers
                if not asks or attempt + 1 == ATTEMPTS:
                    return response
                pause = float(response.headers["Retry-After"])
            except httpx.TransportError:
                # Nobody knows whether the request took effect. Its key makes a retry safe.
                if attempt + 1 == ATTEMPTS:
                    raise
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")
