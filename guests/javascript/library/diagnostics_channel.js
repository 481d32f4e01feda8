// The module `diagnostics_channel`.
'use strict';
const { needFunction, wrongType } = require('internal/arguments');

const channels = new Map();

// What one who listens throws is not the business of who tells.
function throwLater(error) {
  process.nextTick(() => {
    throw error;
  });
}

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
    needFunction('subscription', subscription);
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
        throwLater(error);
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
      run = () => {
        let value = data;
        try {
          if (transform) value = transform(data);
        } catch (error) {
          throwLater(error);
          return inner();
        }
        return store.run(value, inner);
      };
    }
    return run();
  }
}

function channel(name) {
  if (typeof name !== 'string' && typeof name !== 'symbol') throw wrongType('channel', 'of type string or symbol', name);
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}

const kinds = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

class TracingChannel {
  constructor(given) {
    if (typeof given !== 'string' && (typeof given !== 'object' || given === null)) {
      throw wrongType('nameOrChannels', 'of type string or an instance of TracingChannel or Object', given);
    }
    for (const kind of kinds) {
      this[kind] = typeof given === 'string' ? channel(`tracing:${given}:${kind}`) : given[kind];
      if (!(this[kind] instanceof Channel)) throw wrongType(`nameOrChannels.${kind}`, 'an instance of Channel', this[kind]);
    }
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
  // Does the work between `start` and `end`; what it throws is told too.
  #within(context, work, self, values, isDone = () => {}) {
    return this.start.runStores(context, () => {
      try {
        const result = Reflect.apply(work, self, values);
        isDone(result);
        return result;
      } catch (error) {
        context.error = error;
        this.error.publish(context);
        throw error;
      } finally {
        this.end.publish(context);
      }
    });
  }
  traceSync(work, context = {}, self, ...values) {
    if (!this.hasSubscribers) return Reflect.apply(work, self, values);
    return this.#within(context, work, self, values, (result) => {
      context.result = result;
    });
  }
  tracePromise(work, context = {}, self, ...values) {
    if (!this.hasSubscribers) return Reflect.apply(work, self, values);
    const told = (name, value) => {
      context[name] = value;
      if (name === 'error') this.error.publish(context);
      this.asyncStart.publish(context);
      this.asyncEnd.publish(context);
    };
    return Promise.resolve(this.#within(context, work, self, values)).then(
      (value) => (told('result', value), value),
      (error) => {
        told('error', error);
        throw error;
      },
    );
  }
  traceCallback(work, position = -1, context = {}, self, ...values) {
    if (!this.hasSubscribers) return Reflect.apply(work, self, values);
    const channel = this;
    const at = position < 0 ? values.length + position : position;
    const callback = needFunction('callback', values[at]);
    values[at] = function (error, value) {
      if (error) {
        context.error = error;
        channel.error.publish(context);
      } else context.result = value;
      return channel.asyncStart.runStores(context, () => {
        try {
          return Reflect.apply(callback, this, arguments);
        } finally {
          channel.asyncEnd.publish(context);
        }
      });
    };
    return this.#within(context, work, self, values);
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
