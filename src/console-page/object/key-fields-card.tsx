import type { JSX } from 'preact'
import type { KubernetesObject } from '#/api/metadata.ts'
import { StatusText } from '../components/status-text.tsx'
import { toneOfStatus } from '../format/tone.ts'
import { Card, Fields } from './fields.tsx'
import type { KeyField } from './key-fields.ts'
import { ReferenceLinks } from './reference-links.tsx'
import { referencesOf } from './references-of.ts'

export interface KeyFieldsCardProps {
  readonly id: string
  readonly object: KubernetesObject
  readonly fields: readonly KeyField[]
}

/** The key fields of an object and the objects it refers to; nothing if it has neither. */
export function KeyFieldsCard({ id, object, fields }: KeyFieldsCardProps): JSX.Element | null {
  const references = Map.groupBy(referencesOf(id, object), ({ label }) => label)
  if (fields.length === 0 && references.size === 0) return null
  return (
    <Card title="State">
      <Fields
        fields={[
          ...fields.map(({ name, text, tone }) => {
            const shown = tone ?? (name === 'Phase' ? toneOfStatus(text) : undefined)
            return [name, <StatusText tone={shown} text={text} />] as const
          }),
          ...[...references].map(([label, found]) => [label, <ReferenceLinks references={found} />] as const),
        ]}
      />
    </Card>
  )
}
