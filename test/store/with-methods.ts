/** A store some of whose methods are replaced by a test. */
import type { Store } from '../../src/ops/ports.ts';
import type { StoreMethods } from '../../src/store/engine.ts';

export function methodsOf({ healthy, close, ...ports }: Store): StoreMethods & Pick<Store, 'healthy' | 'close'> {
  return Object.assign({ healthy, close }, ...Object.values(ports)) as StoreMethods & Pick<Store, 'healthy' | 'close'>; // the ports of one store
}

export function withMethods(store: Store, methods: Partial<StoreMethods & Pick<Store, 'healthy' | 'close'>>): Store {
  const names = Object.keys(store) as (keyof Store)[];
  const changed = names.map((name) => {
    const port = store[name];
    if (typeof port !== 'object') return [name, methods[name as 'healthy' | 'close'] ?? port];
    const own = Object.entries(methods).filter(([method]) => method in port);
    return [name, { ...port, ...Object.fromEntries(own) }];
  });
  return Object.fromEntries(changed) as Store; // the keys of one
}
