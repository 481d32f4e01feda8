// The module `diagnostics_channel`.
'use strict';
const channels = new Map();

class Channel {
  constructor(name) {
    this.name = name;
    this._subscribers = [];
    this._stores = new Map();
  }
  get hasSubscribers() {
    return this._subscribers.length > 0 || this._stores.size > 0;
  }
  subscribe(subscription) {
    if (typeof subscription !== 'function') throw Object.assign(new TypeError('The "subscription" argument must be of type function'), { code: 'ERR_INVALID_ARG_TYPE' });
    this._subscribers = [...this._subscribers, subscription];
  }
  unsubscribe(subscription) {
    const at = this._subscribers.indexOf(subscription);
    if (at < 0) return false;
    this._subscribers = this._subscribers.toSpliced(at, 1);
    return true;
  }
  bindStore(store, transform) {
    this._stores.set(store, transform);
  }
  unbindStore(store) {
    return this._stores.delete(store);
  }
  publish(data) {
    for (const subscription of this._subscribers) {
      try {
        subscription(data, this.name);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
  runStores(data, work, self, ...values) {
    let run = () => {
      this.publish(data);
      return Reflect.apply(work, self, values);
    };
    for (const [store, transform] of this._stores) {
      const inner = run;
      run = () => store.run(transform ? transform(data) : data, inner);
    }
    return run();
  }
}

function channel(name) {
  if (typeof name !== 'string' && typeof name !== 'symbol') {
    throw Object.assign(new TypeError('The "channel" argument must be of type string or symbol'), { code: 'ERR_INVALID_ARG_TYPE' });
  }
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}

const kinds = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

class TracingChannel {
  constructor(given) {
    for (const kind of kinds) this[kind] = typeof given === 'string' ? channel(`tracing:${given}:${kind}`) : given[kind];
  }
  get hasSubscribers() {
    return kinds.some((kind) => this[kind].hasSubscribers);
  }
  subscribe(handlers) {
    for (const kind of kinds) if (handlers[kind]) this[kind].subscribe(handlers[kind]);
  }
  unsubscribe(handlers) {
    return kinds.filter((kind) => handlers[kind]).every((kind) => this[kind].unsubscribe(handlers[kind]));
  }
  traceSync(work, context = {}, self, ...values) {
    return this.start.runStores(context, () => {
      try {
        context.result = Reflect.apply(work, self, values);
        return context.result;
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
  tracePromise(work, context = {}, self, ...values) {
    const told = (name, value) => {
      context[name] = value;
      if (name === 'error') this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
    };
    return this.start.runStores(context, () => {
      try {
        return Promise.resolve(Reflect.apply(work, self, values)).then(
          (value) => (told('result', value), value),
          (error) => {
            told('error', error);
            throw error;
          },
        );
      } finally {
        this.end.publish(context);
      }
    });
  }
  traceCallback(work, position = -1, context = {}, self, ...values) {
    const at = position < 0 ? values.length + position : position;
    const callback = values[at];
    values[at] = (error, value) => {
      context[error ? 'error' : 'result'] = error || value;
      if (error) this.error.publish(context);
      this.asyncStart.runStores(context, () => {
        try {
          return callback(error, value);
        } finally {
          this.asyncEnd.publish(context);
        }
      });
    };
    return this.traceSync(work, context, self, ...values);
  }
}

module.exports = {
  Channel,
  channel,
  hasSubscribers: (name) => channels.get(name)?.hasSubscribers ?? false,
  subscribe: (name, subscription) => channel(name).subscribe(subscription),
  unsubscribe: (name, subscription) => channel(name).unsubscribe(subscription),
  tracingChannel: (given) => new TracingChannel(given),
  TracingChannel,
};
