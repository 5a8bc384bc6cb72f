import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { KubernetesObject } from '#/api/metadata.ts'
import { Icon } from '../components/icon.tsx'
import { Lazy } from '../components/lazy.tsx'
import { ListState } from '../components/list-state.tsx'
import { Notice } from '../components/notice.tsx'
import { useCurrentTabInView } from '../components/use-current-tab-in-view.ts'
import { resourceId, type ApiResource, type ObjectKey } from '../data/api-resource.ts'
import { useObject } from '../data/use-object.ts'
import { useObjectActions } from '../lists/object-actions.tsx'
import { objectTabs, type ObjectTab } from '../object-tabs.ts'
import { hrefOf, hrefOfObject, navigate, route } from '../router/router.ts'
import { pluralOf } from '../shell/navigation.ts'

export interface ObjectPageProps extends ObjectKey {
  readonly resource: ApiResource
}

/** One object, current while it is shown. */
export function ObjectPage({ resource, namespace, name }: ObjectPageProps): JSX.Element {
  const id = resourceId(resource)
  const { phase, object: current, error } = useObject(resource, { namespace, name })
  const last = useLast(current, `${id} ${namespace} ${name}`)
  const listHref = hrefOf([id])
  const dialog = useObjectActions(resource, () => ({ namespace, name }))
  useEffect(() => {
    document.title = `${name} - ${resource.kind} - k8ts`
  }, [resource.kind, name])
  const tabs = objectTabs.filter(each => each.appliesTo(resource))
  const tab = tabs.find(each => each.name === route.value.query['tab']) ?? tabs[0]
  return (
    <div class="object-page">
      <header class="view-header">
        <a class="icon-button" href={listHref} aria-label={`All ${pluralOf(resource)}`}>
          <Icon name="back" />
        </a>
        <div class="object-title">
          <p class="object-kind">
            {resource.kind}
            {namespace === '' ? null : <span> in {namespace}</span>}
          </p>
          <h1>{name}</h1>
        </div>
      </header>
      <TabList
        tabs={tabs}
        current={tab}
        resource={resource}
        object={{ namespace, name }}
        hasPanel={last !== undefined}
      />
      {last && !current && phase === 'live' ? <Notice tone="warn" title="This object was deleted" /> : null}
      {last ? null : (
        <ListState
          phase={phase}
          error={error}
          what={`${resource.kind} ${name}`}
          namespace={namespace}
          isEmpty
        />
      )}
      {last && tab ? (
        <section class="tab-panel" id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab.name}`}>
          <Lazy key={tab.name} load={tab.load} props={{ resource, object: last, isDeleted: !current }} />
        </section>
      ) : null}
      {dialog}
    </div>
  )
}

/** The object, or its last version after it was deleted. */
function useLast(current: KubernetesObject | undefined, key: string): KubernetesObject | undefined {
  const last = useRef<{ readonly key: string; readonly object: KubernetesObject } | undefined>(undefined)
  if (last.current?.key !== key) last.current = undefined
  if (current) last.current = { key, object: current }
  return last.current?.object
}

interface TabListProps {
  readonly tabs: readonly ObjectTab[]
  readonly current: ObjectTab | undefined
  readonly resource: ApiResource
  readonly object: ObjectKey
  /** False until the object is read. */
  readonly hasPanel: boolean
}

/** As the ARIA pattern of tabs wants it, arrow keys move between the tabs. */
function TabList({ tabs, current, resource, object, hasPanel }: TabListProps): JSX.Element {
  const list = useRef<HTMLDivElement>(null)
  useCurrentTabInView(list, current?.name)
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const at = tabs.findIndex(each => each === current)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (next === undefined) return
    navigate(hrefOfObject(resource, object, { tab: next.name }))
    list.current?.querySelector<HTMLElement>(`#tab-${next.name}`)?.focus()
  }
  return (
    <div
      ref={list}
      class="tabs"
      role="tablist"
      aria-label={`${resource.kind} ${object.name}`}
      onKeyDown={onKeyDown}
    >
      {tabs.map(({ name, title, keys }) => (
        <a
          key={name}
          id={`tab-${name}`}
          role="tab"
          href={hrefOfObject(resource, object, { tab: name })}
          aria-selected={name === current?.name}
          aria-controls={hasPanel ? 'tab-panel' : undefined}
          tabIndex={name === current?.name ? 0 : -1}
        >
          {title}
          {keys === '' ? null : <kbd aria-hidden="true">{keys}</kbd>}
        </a>
      ))}
    </div>
  )
}
