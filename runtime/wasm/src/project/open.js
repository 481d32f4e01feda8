// Opens a project: its bootstrap file run, `container()` at hand. Packages are found in node_modules by themselves.
await (async (project) => {
  delete globalThis.__dormouse_project__;
  const { existsSync } = require('fs');
  const usual = ['.dormouse/bootstrap.mjs', '.dormouse/bootstrap.js', '.dormouse/bootstrap.cjs'];
  const name = project.bootstrap ?? usual.find((each) => existsSync(`${project.root}/${each}`));
  let services;

  if (name) {
    const module = await import(`${project.root}/${name}`);
    services = module.container ?? module.default?.container ?? module.default;
    if (typeof services === 'function' && typeof services.get !== 'function') services = services();
    services = await services;
    if (services === undefined || services === null) {
      throw new TypeError(`the bootstrap file ${name} must export container: an object, or a function that makes it`);
    }
  }

  function container(name) {
    if (services === undefined) {
      throw new Error('the project has no container: add the file .dormouse/bootstrap.mjs, which exports container');
    }
    if (arguments.length === 0) return services;
    if (typeof services.get === 'function') return services.get(name);
    return typeof services === 'function' ? services(name) : services[name];
  }
  Object.defineProperty(globalThis, 'container', { value: container, writable: true, configurable: true });
})(globalThis.__dormouse_project__);
