// The retry policy: while a response asks for it, or is lost, send the same bytes again.

const ATTEMPTS = 8;

const sleep = (seconds: number) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** 409, 429 and 503 with Retry-After: wait, and send the same bytes. Every other response, a 409 without it too: stop. */
export async function fetchWithRetries(request: Request): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    let pause = 0.1 * 2 ** attempt;
    try {
      const response = await fetch(request.clone());
      const retryAfter = response.headers.get('Retry-After');
      const asks = [409, 429, 503].includes(response.status) && retryAfter !== null;
      if (!asks || attempt === ATTEMPTS) return response;
      pause = Number(retryAfter);
    } catch (error) {
      // Nobody knows whether the request took effect. Its key makes a retry safe.
      if (attempt === ATTEMPTS) throw error;
    }
    await sleep(pause);
  }
}
