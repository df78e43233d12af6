import client.ApiClient;
import client.ApiException;
import client.ApiResponse;
import client.inventory.ItemsApi;
import client.inventory.model.AdjustStock;
import client.inventory.model.PreconditionFailedProblem;
import client.inventory.model.PutItem;
import client.orders.OrdersApi;
import client.orders.model.CancelOrder;
import client.orders.model.ForbiddenProblem;
import client.orders.model.IdempotencyKeyReusedProblem;
import client.orders.model.KeyConflictProblem;
import client.orders.model.KeyedRequestRefusedProblem;
import client.orders.model.NotFoundProblem;
import client.orders.model.Order;
import client.orders.model.OrderLine;
import client.orders.model.OrderList;
import client.orders.model.OrderStatus;
import client.orders.model.PlaceOrder;
import client.orders.model.PlaceOrderUnprocessable;
import client.orders.model.PriceChangedProblem;
import client.orders.model.RequestInvalidProblem;
import client.orders.model.UnauthenticatedProblem;
import client.payments.OperationsApi;
import client.payments.PaymentsApi;
import client.payments.RefundsApi;
import client.payments.model.CardDeclinedProblem;
import client.payments.model.CreatePayment;
import client.payments.model.CreateRefund;
import client.payments.model.Currency;
import client.payments.model.Money;
import client.payments.model.Operation;
import client.payments.model.Payment;
import java.net.http.HttpClient;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/** Drives the services by clients that openapi-generator generated. tests/scenario starts the services and reads the output. */
final class Scenario {
    private static final String VISA = "pm_card_visa";
    private static final String SLOW = "pm_card_idem_slow"; // charged after three seconds
    private static final long TIMEOUT = TimeUnit.MINUTES.toNanos(1);

    private static final OrdersApi ORDERS = ordersAt("IDEM_ORDERS", given("IDEM_TOKEN"));
    private static final PaymentsApi PAYMENTS = new PaymentsApi(at("IDEM_PAYMENTS", given("IDEM_TOKEN")));
    private static final RefundsApi REFUNDS = new RefundsApi(at("IDEM_PAYMENTS", given("IDEM_TOKEN")));
    private static final OperationsApi OPERATIONS = new OperationsApi(at("IDEM_PAYMENTS", given("IDEM_TOKEN")));
    private static final ItemsApi INVENTORY = new ItemsApi(at("IDEM_INVENTORY", given("IDEM_TOKEN")));

    private static String given(String name) {
        String value = System.getenv(name);
        holds(value != null, name + " is not set");
        return value;
    }

    private static ApiClient at(String url, String token) {
        ApiClient client = new ApiClient(HttpClient.newBuilder(), ApiClient.createDefaultObjectMapper(), given(url));
        return client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    }

    private static OrdersApi ordersAt(String url, String token) {
        return new OrdersApi(at(url, token));
    }

    private static void holds(boolean condition, Object seen) {
        if (!condition) throw new AssertionError(seen);
    }

    /** The problem with which the request is refused, as one of its types. */
    private static <T> T refused(Retries.Request<?> request, Class<T> problem) throws Exception {
        try {
            throw new AssertionError(Retries.send(request));
        } catch (ApiException refused) {
            return read(refused, problem);
        }
    }

    private static <T> T read(ApiException refused, Class<T> problem) throws Exception {
        return ApiClient.createDefaultObjectMapper().readValue(refused.getResponseBody(), problem);
    }

    private static <T> T refusedOrder(OrdersApi orders, PlaceOrder order, Class<T> problem) throws Exception {
        var key = key(); // outside the request, which may be sent again
        return refused(() -> orders.placeOrder(key, order), problem);
    }

    private static String key() {
        return UUID.randomUUID().toString();
    }

    private static PlaceOrder tea(long pieces, String card) {
        return new PlaceOrder().addLinesItem(new OrderLine().sku("TEA").quantity(pieces)).paymentMethod(card);
    }

    private static Money euros(long amount) {
        return new Money().amount(amount).currency(Currency.EUR);
    }

    private static void item() throws Exception {
        var price = new client.inventory.model.Money().amount(450L).currency(client.inventory.model.Currency.EUR);
        var tea = new PutItem().name("Sencha").unitPrice(price);
        var put = Retries.send(() -> INVENTORY.putItemWithHttpInfo("TEA", tea, null, null));
        holds(put.getStatusCode() == 201, put.getStatusCode());
        var key = key();
        var delivery = new AdjustStock().delta(100L).reason("delivery");
        var stock = Retries.send(() -> INVENTORY.adjustStock("TEA", key, delivery));
        holds(stock.getOnHand() == 100, stock);
        var dearer = new PutItem().name("Sencha").unitPrice(price.amount(500L));
        var problem = refused(() -> INVENTORY.putItem("TEA", dearer, "\"9\"", null), PreconditionFailedProblem.class);
        holds(problem.getCode() == PreconditionFailedProblem.CodeEnum.PRECONDITION_FAILED, problem);
    }

    private static Order placed(PlaceOrder order) throws Exception {
        var key = key();
        // Orders learns of a new item within moments, and asks for a retry before.
        return Retries.send(() -> ORDERS.placeOrder(key, order));
    }

    private static Order lostResponse() throws Exception {
        placed(tea(1, VISA));
        OrdersApi lossy = ordersAt("IDEM_ORDERS_LOSSY", given("IDEM_TOKEN"));
        var key = key();
        ApiResponse<Order> sent = Retries.send(() -> lossy.placeOrderWithHttpInfo(key, tea(2, VISA)));
        holds(sent.getStatusCode() == 201, sent.getStatusCode());
        holds(List.of("true").equals(sent.getHeaders().get("idempotent-replayed")), sent.getHeaders());
        return sent.getData();
    }

    private static void confirmed(Order order) throws Exception {
        Order seen = order;
        for (long until = System.nanoTime() + TIMEOUT; seen.getStatus() != OrderStatus.CONFIRMED; Thread.sleep(100)) {
            var isOpen = Set.of(OrderStatus.PENDING, OrderStatus.AWAITING_PAYMENT).contains(seen.getStatus());
            holds(isOpen && System.nanoTime() < until, seen);
            seen = Retries.send(() -> ORDERS.getOrder(order.getId(), null));
        }
    }

    private static void pages() throws Exception {
        Set<UUID> ids = new HashSet<>();
        OrderList page = Retries.send(() -> ORDERS.listOrders(1L, null, null, null));
        while (true) {
            for (Order order : page.getData()) holds(ids.add(order.getId()), "listed twice: " + order.getId());
            String cursor = page.getNextCursor();
            if (cursor == null) break;
            page = Retries.send(() -> ORDERS.listOrders(1L, cursor, null, null));
        }
        holds(ids.size() == 2, ids);
    }

    private static void problems() throws Exception {
        var used = key();
        Retries.send(() -> ORDERS.placeOrder(used, tea(1, VISA)));
        var reused = refused(() -> ORDERS.placeOrder(used, tea(2, VISA)), KeyConflictProblem.class);
        holds(reused.getActualInstance() instanceof IdempotencyKeyReusedProblem it && !it.getRetryable(), reused);
        refusedOrder(ordersAt("IDEM_ORDERS", "nobody"), tea(1, VISA), UnauthenticatedProblem.class);
        refusedOrder(ordersAt("IDEM_ORDERS", given("IDEM_READER_TOKEN")), tea(1, VISA), ForbiddenProblem.class);
        var id = UUID.randomUUID();
        refused(() -> ORDERS.getOrder(id, null), NotFoundProblem.class);
        var none = new PlaceOrder().lines(List.of()).paymentMethod(VISA);
        var invalid = refusedOrder(ORDERS, none, KeyedRequestRefusedProblem.class);
        holds(invalid.getActualInstance() instanceof RequestInvalidProblem it
                && it.getErrors().get(0).getPointer().equals("/lines"), invalid);
        var cheaper = tea(1, VISA).expectedTotal(new client.orders.model.Money().amount(1L).currency(client.orders.model.Currency.EUR));
        var changed = refusedOrder(ORDERS, cheaper, PlaceOrderUnprocessable.class);
        holds(changed.getActualInstance() instanceof PriceChangedProblem, changed);
        var key = key();
        var card = new CreatePayment().amount(euros(100)).paymentMethod("pm_card_visa_chargeDeclined");
        refused(() -> PAYMENTS.createPayment(key, card), CardDeclinedProblem.class);
    }

    private static void cancelled() throws Exception {
        Order order = placed(tea(1, SLOW));
        var key = key();
        var cancel = new CancelOrder().reason("changed my mind");
        Order after = Retries.send(() -> ORDERS.cancelOrder(order.getId(), key, cancel));
        holds(after.getStatus() == OrderStatus.CANCELLED, after);
    }

    private static Payment charged() throws Exception {
        var key = key();
        var charge = new CreatePayment().amount(euros(1250)).paymentMethod(VISA).reference("invoice 17");
        ApiResponse<Payment> sent = Retries.send(() -> PAYMENTS.createPaymentWithHttpInfo(key, charge));
        holds(sent.getStatusCode() == 201, sent.getStatusCode());
        return sent.getData();
    }

    private static void followed() throws Exception {
        var key = key();
        var charge = new CreatePayment().amount(euros(700)).paymentMethod(SLOW);
        ApiResponse<Payment> sent = Retries.send(() -> PAYMENTS.createPaymentWithHttpInfo(key, charge));
        holds(sent.getStatusCode() == 202, sent.getStatusCode());
        // The generated method has one type, of 201. Location names the operation, too.
        String location = sent.getHeaders().get("location").get(0);
        UUID id = UUID.fromString(location.substring(location.lastIndexOf('/') + 1));
        for (long until = System.nanoTime() + TIMEOUT; ; Thread.sleep(200)) {
            Operation operation = Retries.send(() -> OPERATIONS.getOperation(id));
            holds(System.nanoTime() < until, operation);
            if (operation.getReply() != null) {
                holds(operation.getReply().getStatus() == 201, operation);
                return;
            }
        }
    }

    private static void refunded(Payment payment) throws Exception {
        var key = key();
        var part = new CreateRefund().reason("broken").amount(euros(250));
        var refund = Retries.send(() -> REFUNDS.createRefund(payment.getId(), key, part));
        holds(refund.getAmount().getAmount() == 250, refund);
    }

    public static void main(String[] arguments) throws Exception {
        item();
        System.out.println("holds: item");
        Order order = lostResponse();
        System.out.println("holds: lost response");
        confirmed(order);
        System.out.println("holds: confirmed");
        pages();
        System.out.println("holds: pages");
        problems();
        System.out.println("holds: problems");
        cancelled();
        System.out.println("holds: cancelled");
        Payment payment = charged();
        System.out.println("holds: charged");
        followed();
        System.out.println("holds: followed");
        refunded(payment);
        System.out.println("holds: refunded");
    }
}
