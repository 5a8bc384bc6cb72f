import type { JSX } from 'preact'
import { Icon } from '../components/icon.tsx'
import { useTable } from '../data/subscriptions.ts'
import { namespace, navigate, route } from '../router/router.ts'
import { formatRoute } from '../router/route.ts'
import { session } from '../data/session.ts'

const query = { path: '/api/v1/namespaces' }

/** A user who may not list namespaces can go to one with the command bar. */
export function NamespaceSelector(): JSX.Element {
  const { items } = useTable(query)
  const current = namespace.value
  const listed = [...items.values()].flatMap(({ object }) => object.metadata.name ?? [])
  const names = new Set([...listed, current, session.value?.contextNamespace ?? ''].filter(Boolean))
  return (
    <label class="namespace-selector">
      <Icon name="namespace" />
      <span class="visually-hidden">Namespace</span>
      <select value={current} onChange={event => selectNamespace(event.currentTarget.value)}>
        <option value="">All namespaces</option>
        {[...names].sort().map(name => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

/** An object is left for the list of its resource in the selected namespace. */
export function selectNamespace(name: string): void {
  const { path, query: parameters } = route.peek()
  const isObject = path.length > 1
  navigate(formatRoute(path.slice(0, 1), { ...(isObject ? {} : parameters), namespace: name }))
}
