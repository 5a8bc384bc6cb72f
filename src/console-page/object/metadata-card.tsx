import type { JSX } from 'preact'
import type { KubernetesObject, OwnerReference } from '#/api/metadata.ts'
import { Age } from '../components/age.tsx'
import { resourceOfKind } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { formatTime } from '../format/format-time.ts'
import { hrefOfObject } from '../router/router.ts'
import { Card, Fields } from './fields.tsx'

/** Long values are in the YAML. */
const annotationCharactersMax = 200
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

export function MetadataCard({ object: { metadata } }: { readonly object: KubernetesObject }): JSX.Element {
  const { ownerReferences = [], labels = {}, annotations = {}, finalizers = [], namespace = '' } = metadata
  const shownAnnotations = Object.entries(annotations).filter(
    ([key, value]) => key !== lastApplied && value.length <= annotationCharactersMax,
  )
  return (
    <Card title="Metadata">
      <Fields
        fields={[
          ['Created', metadata.creationTimestamp && <Moment time={metadata.creationTimestamp} />],
          ['Deletion requested', metadata.deletionTimestamp && <Moment time={metadata.deletionTimestamp} />],
          ['Finalizers', finalizers.join(', ')],
          [
            'Owner',
            ownerReferences.length > 0 ? (
              <Owners owners={ownerReferences} namespace={namespace} />
            ) : undefined,
          ],
          ['Labels', Object.keys(labels).length > 0 ? <Chips entries={Object.entries(labels)} /> : undefined],
          ['Annotations', shownAnnotations.length > 0 ? <Chips entries={shownAnnotations} /> : undefined],
          ['Resource version', metadata.resourceVersion],
          ['UID', <code>{metadata.uid}</code>],
        ]}
      />
    </Card>
  )
}

function Moment({ time }: { readonly time: string }): JSX.Element {
  return (
    <>
      {formatTime(time)}{' '}
      <span class="detail">
        (<Age time={time} /> ago)
      </span>
    </>
  )
}

/** Keys with values, such as labels. */
function Chips({ entries }: { readonly entries: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <ul class="chips">
      {entries.map(([name, value]) => (
        <li key={name}>
          <span class="chip-name">{name}</span>
          {value === '' ? null : <span class="chip-value">{value}</span>}
        </li>
      ))}
    </ul>
  )
}

interface OwnersProps {
  readonly owners: readonly OwnerReference[]
  readonly namespace: string
}

function Owners({ owners, namespace }: OwnersProps): JSX.Element {
  return (
    <ul class="plain-list">
      {owners.map(({ uid, kind, name, apiVersion }) => {
        const resource = resourceOfKind(discovery.value.resources, { apiVersion, kind })
        const key = { namespace: resource?.namespaced ? namespace : '', name }
        return (
          <li key={uid}>
            {kind} {resource ? <a href={hrefOfObject(resource, key)}>{name}</a> : name}
          </li>
        )
      })}
    </ul>
  )
}
