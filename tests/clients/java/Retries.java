import client.ApiException;
import java.util.List;

/** The retry policy: while a response asks for it, or is lost, send the same bytes again. */
final class Retries {
    private static final int ATTEMPTS = 8;

    interface Request<T> {
        T send() throws ApiException;
    }

    /** 409, 429 and 503 with Retry-After: wait, and send the same bytes. Every other response, a 409 without it too: stop. */
    static <T> T send(Request<T> request) throws ApiException, InterruptedException {
        for (int attempt = 1; ; attempt++) {
            long pause = 100L << attempt;
            try {
                return request.send();
            } catch (ApiException failed) {
                // Without a response (0) nobody knows whether the request took effect. Its key makes a retry safe.
                boolean isLost = failed.getCode() == 0;
                long seconds = isLost ? 0 : failed.getResponseHeaders().firstValueAsLong("Retry-After").orElse(-1);
                boolean asks = List.of(409, 429, 503).contains(failed.getCode()) && seconds >= 0;
                if (!(isLost || asks) || attempt == ATTEMPTS) throw failed;
                pause = Math.max(pause, 1000 * seconds);
            }
            Thread.sleep(pause);
        }
    }
}
