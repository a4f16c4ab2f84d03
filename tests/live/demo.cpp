// The leak and its closure, as a table.
int main() {}
