{"id":"1","name":"api.allowed.test","port":80,"why":"this name and port are not on the jail's list"}
