-- Promise 3: each order has one accepted request, and each accepted request has its order.
-- Database: orders.
SELECT format('order %s was placed by %s requests', orders.id, count(fact.id)) AS violation
  FROM orders
  LEFT JOIN audit_fact AS fact
    ON fact.action = 'order.place' AND fact.subject_id = orders.id::text AND fact.tenant_id = orders.tenant_id
 GROUP BY orders.id
HAVING count(fact.id) <> 1
UNION ALL
SELECT format('operation %s placed order %s, which is not there', fact.operation_id, fact.subject_id)
  FROM audit_fact AS fact
  LEFT JOIN orders ON orders.id::text = fact.subject_id
 WHERE fact.action = 'order.place' AND orders.id IS NULL;
