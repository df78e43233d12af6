-- Promise 5: the stored balances are the sums of the ledger's entries, up to the mark.
-- Database: payments.
WITH summed AS (
    SELECT tenant_id, account, currency, sum(greatest(amount, 0)) AS debit, sum(greatest(-amount, 0)) AS credit
      FROM ledger_entry
     WHERE transaction_id <= (SELECT folded_id FROM ledger_mark)
     GROUP BY tenant_id, account, currency
)
SELECT format('%s of %s in %s: the entries sum to %s and %s, the balance says %s and %s', account, tenant_id, currency,
              coalesce(summed.debit, 0), coalesce(summed.credit, 0), coalesce(balance.debit, 0),
              coalesce(balance.credit, 0)) AS violation
  FROM summed
  FULL JOIN ledger_balance AS balance USING (tenant_id, account, currency)
 WHERE (summed.debit, summed.credit) IS DISTINCT FROM (balance.debit::numeric, balance.credit::numeric);
