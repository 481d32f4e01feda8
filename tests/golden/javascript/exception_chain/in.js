class Refused extends Error {}

function load(name) {
  try {
    JSON.parse("{");
  } catch (error) {
    throw new Refused(`no setting ${name}`, { cause: error });
  }
}

try {
  load("port");
} catch (error) {
  throw new Error("cannot start", { cause: error });
}
