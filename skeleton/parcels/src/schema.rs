//! The table of the migrations, in the form that diesel needs.

diesel::table! {
    parcel (id) {
        id -> Uuid,
        tenant_id -> Text,
        order_id -> Uuid,
        state -> Text,
        note -> Nullable<Text>,
        sequence -> BigInt,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}
