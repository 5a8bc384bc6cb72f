import type { JSX } from 'preact'
import type { ObjectTabProps } from '../object-tabs.ts'
import { ChainPanel } from './chain-panel.tsx'

/** What the latest request about the object caused, across all components. */
export function ChainTab({ resource, object }: ObjectTabProps): JSX.Element {
  const { namespace = '', name = '' } = object.metadata
  return <ChainPanel resource={resource} namespace={namespace} name={name} />
}
