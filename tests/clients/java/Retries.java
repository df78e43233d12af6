import client.ApiException;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.List;

/** The retry policy: send the same bytes again while a response is lost, asks for it, or comes from a gateway that failed. */
final class Retries {
    private static final int ATTEMPTS = 8;
    private static final ObjectMapper JSON = new ObjectMapper();

    interface Request<T> {
        T send() throws ApiException;
    }

    static <T> T send(Request<T> request) throws ApiException, InterruptedException {
        for (int attempt = 1; ; attempt++) {
            long pause = 100L << attempt;
            try {
                return request.send();
            } catch (ApiException failed) {
                // Without a response (0) nobody knows whether the request took effect. Its key makes a retry safe.
                boolean isLost = failed.getCode() == 0;
                if (!(isLost || asks(failed)) || attempt == ATTEMPTS) throw failed;
                if (!isLost) pause = Math.max(pause, 1000 * seconds(failed));
            }
            Thread.sleep((long) (pause * (1 + Math.random() / 2)));
        }
    }

    /** A problem of the service says whether it is retryable. Any other refusal is a gateway's. */
    private static boolean asks(ApiException refused) {
        int status = refused.getCode();
        JsonNode retryable = problem(refused).path("retryable");
        if (status < 400 || retryable.isBoolean()) return status >= 400 && retryable.booleanValue();
        return status >= 500 || List.of(408, 425, 429).contains(status)
                || refused.getResponseHeaders().firstValue("Retry-After").isPresent();
    }

    private static JsonNode problem(ApiException refused) {
        try {
            return JSON.readTree(String.valueOf(refused.getResponseBody()));
        } catch (JsonProcessingException page) {
            return MissingNode.getInstance();
        }
    }

    /** Of `Retry-After`; 0 if it is absent or a date. */
    private static long seconds(ApiException refused) {
        String value = refused.getResponseHeaders().firstValue("Retry-After").orElse("");
        return value.matches("[0-9]{1,6}") ? Long.parseLong(value) : 0;
    }
}
