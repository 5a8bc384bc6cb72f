import type { JSX } from 'preact'
import { findResource, type ObjectKey } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { hrefOfObject } from '../router/router.ts'
import type { ObjectReference } from './references-of.ts'

/** Links to objects, by what they are used for. */
export function ReferenceLinks({
  references,
}: {
  readonly references: readonly ObjectReference[]
}): JSX.Element {
  return (
    <ul class="plain-list">
      {references.map(({ resource, namespace, name }) => (
        <li key={`${resource} ${namespace}/${name}`}>
          <ObjectLink resource={resource} object={{ namespace, name }} />
        </li>
      ))}
    </ul>
  )
}

export interface ObjectLinkProps {
  /** As users type it. */
  readonly resource: string
  readonly object: ObjectKey
}

/** The name of an object, as a link if the API server serves its resource. */
export function ObjectLink({ resource, object }: ObjectLinkProps): JSX.Element {
  const found = findResource(discovery.value.resources, resource)
  if (found === undefined) return <>{object.name}</>
  const key = found.namespaced ? object : { ...object, namespace: '' }
  return <a href={hrefOfObject(found, key)}>{object.name}</a>
}
