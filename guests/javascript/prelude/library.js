// Modules of Node.js that are evaluated when they are first asked for: those of the folder `library`, which may require files of the
// packages that the guest is built with, and globals that such modules have.
(function (native, shared) {
  'use strict';
  const { library, libraryNames } = native;
  const { define, modules } = shared;
  const { dirname, join } = modules.path;

  // Files of packages have an ending, and are known by their path; our own have none.
  const names = new Set(libraryNames());
  const isFile = (name) => /\.c?js$/.test(name);
  const mains = {
    'readable-stream': 'readable-stream/lib/stream.js',
    'safe-buffer': 'buffer',
    'abort-controller': 'internal/web',
    qs: 'internal/qs',
  };
  const loaded = new Map();

  function find(name, base) {
    if (name[0] === '.') {
      const path = join(dirname(base), name);
      return ['', '.js', '/index.js'].map((ending) => path + ending).find((each) => names.has(each));
    }
    return names.has(name) && (isFile(name) || name.startsWith('internal/')) ? name : mains[name];
  }

  function evaluate(name) {
    const known = loaded.get(name);
    if (known) return known.exports;
    const module = { exports: {}, id: name, filename: name, loaded: false };
    loaded.set(name, module);
    const require = (wanted) => {
      const plain = wanted.replace(/^node:|\/$/g, '');
      const found = find(plain, name);
      if (found) return evaluate(found);
      if (!(plain in modules)) throw new Error(`the library has no ${wanted}, which ${name} asks for`);
      return modules[plain];
    };
    try {
      library(name).call(module.exports, module.exports, require, module, native, shared);
    } catch (error) {
      loaded.delete(name);
      throw error;
    }
    module.loaded = true;
    return module.exports;
  }

  for (const name of names) {
    if (isFile(name) || name.startsWith('internal/')) continue;
    Object.defineProperty(modules, name, { get: () => evaluate(name), enumerable: true, configurable: true });
  }

  // A global that is evaluated when it is first used.
  function lazily(name, value) {
    Object.defineProperty(globalThis, name, {
      get() {
        define(name, value());
        return globalThis[name];
      },
      set: (given) => define(name, given),
      enumerable: false,
      configurable: true,
    });
  }

  const globals = {
    buffer: ['Buffer', 'Blob', 'File'],
    'internal/fetch': ['FormData', 'Headers', 'Request', 'Response'],
    'internal/websocket': ['WebSocket'],
    'internal/event_source': ['EventSource'],
    'internal/events': ['MessageEvent', 'ErrorEvent', 'PromiseRejectionEvent', 'CloseEvent'],
    'internal/messages': ['MessageChannel', 'MessagePort', 'BroadcastChannel'],
    'internal/compression': ['CompressionStream', 'DecompressionStream'],
    'internal/webcrypto': ['CryptoKey', 'SubtleCrypto'],
    'internal/web_streams': [
      'ReadableStream',
      'ReadableStreamDefaultReader',
      'ReadableStreamBYOBReader',
      'ReadableStreamBYOBRequest',
      'ReadableByteStreamController',
      'ReadableStreamDefaultController',
      'WritableStream',
      'WritableStreamDefaultWriter',
      'WritableStreamDefaultController',
      'TransformStream',
      'TransformStreamDefaultController',
      'ByteLengthQueuingStrategy',
      'CountQueuingStrategy',
    ],
    'internal/tools': ['ToolError', 'tools'],
    perf_hooks: ['PerformanceEntry', 'PerformanceMark', 'PerformanceMeasure', 'PerformanceObserver', 'PerformanceObserverEntryList', 'PerformanceResourceTiming'],
    'internal/text_streams': ['TextEncoderStream', 'TextDecoderStream'],
    'urlpattern-polyfill/dist/urlpattern.cjs': ['URLPattern'],
  };
  for (const [module, list] of Object.entries(globals)) {
    for (const name of list) lazily(name, () => evaluate(module)[name]);
  }
  lazily('navigator', () => evaluate('internal/navigator'));

  Object.defineProperty(modules.path, 'win32', { get: () => modules['path/win32'], enumerable: true, configurable: true });

  shared.library = evaluate;
  shared.lazily = lazily;
})
