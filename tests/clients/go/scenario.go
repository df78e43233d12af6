// Drives the services by clients that oapi-codegen generated. tests/scenario starts the services and reads the output.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"idem-client/inventory"
	"idem-client/orders"
	"idem-client/payments"
)

const (
	visa    = "pm_card_visa"
	slow    = "pm_card_idem_slow" // charged after three seconds
	timeout = time.Minute
)

var (
	everywhere = context.Background()
	atOrders   = ordersAt("IDEM_ORDERS", os.Getenv("IDEM_TOKEN"))
	atPayments = made(payments.NewClientWithResponses(os.Getenv("IDEM_PAYMENTS"),
		payments.WithHTTPClient(retries{}), payments.WithRequestEditorFn(bearer(os.Getenv("IDEM_TOKEN")))))
	atInventory = made(inventory.NewClientWithResponses(os.Getenv("IDEM_INVENTORY"),
		inventory.WithHTTPClient(retries{}), inventory.WithRequestEditorFn(bearer(os.Getenv("IDEM_TOKEN")))))
)

func ordersAt(url, token string) *orders.ClientWithResponses {
	return made(orders.NewClientWithResponses(os.Getenv(url),
		orders.WithHTTPClient(retries{}), orders.WithRequestEditorFn(bearer(token))))
}

func bearer(token string) func(context.Context, *http.Request) error {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// made returns the value, and ends the program at an error.
func made[T any](value T, err error) T {
	holds(err == nil, "an error:", err)
	return value
}

func holds(condition bool, seen ...any) {
	if !condition {
		fmt.Fprintln(os.Stderr, seen...)
		os.Exit(1)
	}
}

// code is the code of a problem. The generated unions do not say which of their types a body has.
func code(body []byte) string {
	var problem struct {
		Code string `json:"code"`
	}
	holds(json.Unmarshal(body, &problem) == nil, "no problem:", string(body))
	return problem.Code
}

func key() string { return uuid.NewString() }

func tea(pieces int64, card string) orders.PlaceOrder {
	lines := []orders.OrderLine{{Sku: "TEA", Quantity: pieces}}
	return orders.PlaceOrder{Lines: lines, PaymentMethod: card}
}

func place(client *orders.ClientWithResponses, key string, order orders.PlaceOrder) *orders.PlaceOrderResponse {
	return made(client.PlaceOrderWithResponse(everywhere, &orders.PlaceOrderParams{IdempotencyKey: key}, order))
}

func item() {
	euros := func(amount int64) inventory.Money { return inventory.Money{Amount: amount, Currency: inventory.EUR} }
	tea := inventory.PutItem{Name: "Sencha", UnitPrice: euros(450)}
	put := made(atInventory.PutItemWithResponse(everywhere, "TEA", nil, tea))
	holds(put.JSON201 != nil, put.Status(), string(put.Body))
	delivery := inventory.AdjustStock{Delta: 100, Reason: "delivery"}
	params := &inventory.AdjustStockParams{IdempotencyKey: key()}
	stock := made(atInventory.AdjustStockWithResponse(everywhere, "TEA", params, delivery))
	holds(stock.JSON201 != nil && stock.JSON201.OnHand == 100, stock.Status(), string(stock.Body))
	version := `"9"`
	dearer := inventory.PutItem{Name: "Sencha", UnitPrice: euros(500)}
	refused := made(atInventory.PutItemWithResponse(everywhere, "TEA", &inventory.PutItemParams{IfMatch: &version}, dearer))
	problem := refused.ApplicationproblemJSON412
	holds(problem != nil && problem.Code == inventory.PreconditionFailedProblemCodePreconditionFailed, string(refused.Body))
}

func placed(order orders.PlaceOrder) orders.Order {
	// Orders learns of a new item within moments, and asks for a retry before.
	response := place(atOrders, key(), order)
	holds(response.JSON201 != nil, response.Status(), string(response.Body))
	return *response.JSON201
}

func lostResponse() orders.Order {
	placed(tea(1, visa))
	response := place(ordersAt("IDEM_ORDERS_LOSSY", os.Getenv("IDEM_TOKEN")), key(), tea(2, visa))
	holds(response.JSON201 != nil, response.Status(), string(response.Body))
	holds(response.HTTPResponse.Header.Get("Idempotent-Replayed") == "true", response.HTTPResponse.Header)
	return *response.JSON201
}

func confirmed(order orders.Order) {
	until := time.Now().Add(timeout)
	for order.Status == orders.Pending || order.Status == orders.AwaitingPayment {
		holds(time.Now().Before(until), "still", order.Status)
		time.Sleep(100 * time.Millisecond)
		read := made(atOrders.GetOrderWithResponse(everywhere, order.Id, nil))
		holds(read.JSON200 != nil, read.Status(), string(read.Body))
		order = *read.JSON200
	}
	holds(order.Status == orders.Confirmed, order.Status)
}

func pages() {
	one, ids := int64(1), map[orders.OrderId]bool{}
	params := &orders.ListOrdersParams{Limit: &one}
	for {
		page := made(atOrders.ListOrdersWithResponse(everywhere, params))
		holds(page.JSON200 != nil, page.Status(), string(page.Body))
		for _, order := range page.JSON200.Data {
			holds(!ids[order.Id], "listed twice:", order.Id)
			ids[order.Id] = true
		}
		if page.JSON200.NextCursor == nil {
			break
		}
		params.Cursor = page.JSON200.NextCursor
	}
	holds(len(ids) == 2, ids)
}

func problems() {
	used := key()
	holds(place(atOrders, used, tea(1, visa)).JSON201 != nil, "an order")
	reused := place(atOrders, used, tea(2, visa))
	holds(code(reused.Body) == string(orders.IdempotencyKeyReused), string(reused.Body))
	anonymous := place(ordersAt("IDEM_ORDERS", "nobody"), key(), tea(1, visa))
	holds(anonymous.ApplicationproblemJSON401 != nil, string(anonymous.Body))
	forbidden := place(ordersAt("IDEM_ORDERS", os.Getenv("IDEM_READER_TOKEN")), key(), tea(1, visa))
	holds(forbidden.ApplicationproblemJSON403 != nil, string(forbidden.Body))
	missing := made(atOrders.GetOrderWithResponse(everywhere, uuid.New(), nil))
	holds(missing.ApplicationproblemJSON404 != nil, string(missing.Body))
	none := orders.PlaceOrder{Lines: []orders.OrderLine{}, PaymentMethod: visa}
	invalid := place(atOrders, key(), none)
	holds(code(invalid.Body) == string(orders.RequestInvalidProblemCodeRequestInvalid), string(invalid.Body))
	wrong := made(invalid.ApplicationproblemJSON400.AsRequestInvalidProblem())
	holds(wrong.Errors != nil && (*wrong.Errors)[0].Pointer == "/lines", string(invalid.Body))
	cheaper := tea(1, visa)
	cheaper.ExpectedTotal = &orders.Money{Amount: 1, Currency: orders.EUR}
	changed := place(atOrders, key(), cheaper)
	holds(code(changed.Body) == string(orders.PriceChanged), string(changed.Body))
	declined := charge(100, "pm_card_visa_chargeDeclined")
	problem := declined.ApplicationproblemJSON402
	holds(problem != nil && problem.Code == payments.CardDeclined, string(declined.Body))
}

func cancelled() {
	order := placed(tea(1, slow))
	params := &orders.CancelOrderParams{IdempotencyKey: key()}
	reason := orders.CancelOrder{Reason: "changed my mind"}
	after := made(atOrders.CancelOrderWithResponse(everywhere, order.Id, params, reason))
	holds(after.JSON200 != nil && after.JSON200.Status == orders.Cancelled, after.Status(), string(after.Body))
}

func charge(amount int64, card string) *payments.CreatePaymentResponse {
	money := payments.Money{Amount: amount, Currency: payments.EUR}
	params := &payments.CreatePaymentParams{IdempotencyKey: key()}
	body := payments.CreatePayment{Amount: money, PaymentMethod: card}
	return made(atPayments.CreatePaymentWithResponse(everywhere, params, body))
}

func charged() payments.Payment {
	response := charge(1250, visa)
	holds(response.JSON201 != nil, response.Status(), string(response.Body))
	return *response.JSON201
}

func followed() {
	response := charge(700, slow)
	holds(response.JSON202 != nil, response.Status(), string(response.Body))
	for until := time.Now().Add(timeout); ; time.Sleep(200 * time.Millisecond) {
		operation := made(atPayments.GetOperationWithResponse(everywhere, response.JSON202.OperationId))
		holds(operation.JSON200 != nil && time.Now().Before(until), operation.Status(), string(operation.Body))
		if reply := operation.JSON200.Reply; reply != nil {
			holds(reply.Status == http.StatusCreated, reply.Status)
			return
		}
	}
}

func refunded(payment payments.Payment) {
	part := payments.Money{Amount: 250, Currency: payments.EUR}
	params := &payments.CreateRefundParams{IdempotencyKey: key()}
	body := payments.CreateRefund{Reason: "broken", Amount: &part}
	refund := made(atPayments.CreateRefundWithResponse(everywhere, payment.Id, params, body))
	holds(refund.JSON201 != nil && refund.JSON201.Amount == part, refund.Status(), string(refund.Body))
}

func main() {
	item()
	fmt.Println("holds: item")
	order := lostResponse()
	fmt.Println("holds: lost response")
	confirmed(order)
	fmt.Println("holds: confirmed")
	pages()
	fmt.Println("holds: pages")
	problems()
	fmt.Println("holds: problems")
	cancelled()
	fmt.Println("holds: cancelled")
	payment := charged()
	fmt.Println("holds: charged")
	followed()
	fmt.Println("holds: followed")
	refunded(payment)
	fmt.Println("holds: refunded")
}
