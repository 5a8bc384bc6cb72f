import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Lazy } from '../components/lazy.tsx'
import { Notice } from '../components/notice.tsx'
import { findResource } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { ResourceList } from '../lists/resource-list.tsx'
import { noNamespace } from '../router/route.ts'
import { route } from '../router/router.ts'
import { views } from '../views.ts'

const loadObjectPage = async () => (await import('../object/object-page.tsx')).ObjectPage
const noProps = {}

/** Where the page begins; the first of these that exists. */
const home = 'topology'

/** Shows what the address names: a view, a list, or an object. */
export function ViewOutlet(): JSX.Element {
  const [first = views.some(view => view.path === home) ? home : 'pods', second, name] = route.value.path
  const view = name === undefined ? views.find(({ path }) => path === first) : undefined
  if (view) return <Lazy key={view.path} load={view.load} props={noProps} />
  const { phase, resources } = discovery.value
  const resource = findResource(resources, first)
  if (resource === undefined) {
    if (phase === 'loading') return <Notice tone="busy" title="Reading the resources of the cluster" />
    return <UnknownResource name={first} />
  }
  if (second === undefined || name === undefined) return <ResourceList key={first} resource={resource} />
  const key = { namespace: second === noNamespace ? '' : second, name }
  return <Lazy load={loadObjectPage} props={{ resource, ...key }} />
}

function UnknownResource({ name }: { readonly name: string }): JSX.Element {
  useEffect(() => {
    document.title = `${name} - k8ts`
  }, [name])
  return (
    <Notice
      tone="warn"
      title={`${name} is not a resource of this cluster`}
      detail="Press : to go to another resource or view."
    />
  )
}
