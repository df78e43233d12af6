DROP TABLE parcel;
