import type { ComponentType, JSX } from 'preact'
import { resourceId } from '../data/api-resource.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { Conditions } from './conditions.tsx'
import { ContainersCard } from './containers-card.tsx'
import { FieldTree } from './field-tree.tsx'
import { Card } from './fields.tsx'
import { keyFields } from './key-fields.ts'
import { KeyFieldsCard } from './key-fields-card.tsx'
import { MetadataCard } from './metadata-card.tsx'
import { MetricsCard } from './metrics-card.tsx'
import { PortForwardCard } from './port-forward-card.tsx'
import { RelatedCard } from './related-card.tsx'
import { relatedLists } from './related-lists.ts'
import { WhyCard } from './why-card.tsx'

/** Cards of some kinds, between the state of the object and the objects that belong to it. */
const kindCards: Readonly<Record<string, readonly ComponentType<ObjectTabProps>[]>> = {
  pods: [ContainersCard, MetricsCard, PortForwardCard],
  nodes: [MetricsCard],
  services: [PortForwardCard],
}

/** Cause of the state, key fields, metadata, conditions, what the kind adds, and what belongs to the object. */
export function OverviewTab(props: ObjectTabProps): JSX.Element {
  const { resource, object } = props
  const id = resourceId(resource)
  const fields = keyFields(id, object)
  return (
    <div class="cards">
      {props.isDeleted ? null : <WhyCard {...props} />}
      <KeyFieldsCard id={id} object={object} fields={fields} />
      <MetadataCard object={object} />
      <Conditions object={object} />
      {(kindCards[id] ?? []).map(KindCard => (
        <KindCard key={KindCard.name} {...props} />
      ))}
      {relatedLists(id, object).map(list => (
        <RelatedCard key={list.title} list={list} ownerUid={object.metadata.uid ?? ''} />
      ))}
      {fields.length === 0 ? (
        <Card title="Fields" isWide>
          <FieldTree value={withoutMetadata(object)} />
        </Card>
      ) : null}
    </div>
  )
}

function withoutMetadata(object: object): object {
  const shown = Object.entries(object).filter(([name]) => !['metadata', 'apiVersion', 'kind'].includes(name))
  return Object.fromEntries(shown)
}
