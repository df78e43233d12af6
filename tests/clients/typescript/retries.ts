// The retry policy: send the same bytes again while a response is lost, asks for it, or comes from a gateway that failed.

export const ATTEMPTS = 8;
const TIMEOUT = 10_000; // milliseconds for a response; without it, fetch waits for minutes

export const sleep = (seconds: number) => new Promise((done) => setTimeout(done, 1000 * seconds));

export const fetchWithRetries = retrying(ATTEMPTS);

export function retrying(attempts: number): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let attempt = 1; ; attempt++) {
      let pause = 0.1 * 2 ** attempt;
      try {
        const signal = AbortSignal.any([request.signal, AbortSignal.timeout(TIMEOUT)]);
        const response = await fetch(request.clone(), { signal });
        const body = await response.clone().text();
        if (!asks(response, body) || attempt === attempts) return response;
        pause = Math.max(pause, Number(response.headers.get('Retry-After')) || 0);
      } catch (error) {
        // Nobody knows whether the request took effect. Its key makes a retry safe.
        if (attempt === attempts) throw error;
      }
      await sleep(pause * (1 + Math.random() / 2));
    }
  };
}

/** A problem of the service says whether it is retryable. Any other refusal is a gateway's. */
function asks({ status, headers }: Response, body: string): boolean {
  if (status < 400) return false;
  try {
    const { retryable } = JSON.parse(body);
    if (typeof retryable === 'boolean') return retryable;
  } catch {
    // A gateway's page.
  }
  return status >= 500 || [408, 425, 429].includes(status) || headers.has('Retry-After');
}
