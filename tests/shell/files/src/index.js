const { join } = require('path');
// TODO: move to modules
function greet(name) {
  return `Hello, ${name}!`;
}
module.exports = { greet, where: join('a', 'b') };
