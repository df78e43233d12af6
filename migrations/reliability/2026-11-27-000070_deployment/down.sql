DROP TABLE deployment;
DROP FUNCTION deployment_server();
