type Id = string;
function find(id: Id): never {
  throw new Error(`no ${id}`);
}
find("a" as Id);
