import type { Body } from '../request.ts'

/** Two valid bodies of a kind, without `apiVersion`, `kind` and `metadata.name`. */
export interface Example {
  readonly minimal: Body
  /** With a field of each type. Times are in 2001, see normalize.ts. */
  readonly rich: Body
  /** Where a name must have a certain form. */
  readonly nameOf?: (name: string) => string
  /** Where the spec must repeat the name. */
  readonly specOf?: (name: string) => Body
}

/** By group and kind, and by version where it has another form: `apps/Deployment`, `/Pod`. */
export type Examples = Readonly<Record<string, Example>>

export const labels = { app: 'compare' }
export const selector = { matchLabels: labels }
export const minimalPodSpec = { containers: [{ name: 'main', image: 'example.com/main:1' }] }
export const minimalTemplate = { metadata: { labels }, spec: minimalPodSpec }
export const finishingTemplate = { spec: { ...minimalPodSpec, restartPolicy: 'Never' } }
