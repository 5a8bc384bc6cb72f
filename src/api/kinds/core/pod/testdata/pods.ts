/** Minimal valid pods for tests; each case overrides the fields it is about. */
import type { KindRules } from '../../../../kind-rules.ts'
import { groupRules } from '../../../group-rules.ts'
import { underTest, type RulesUnderTest } from '../../../testdata/check-rules.ts'

/** A pod with one container. */
export function pod(spec: object = {}, metadata: object = {}): object {
  return {
    metadata: { name: 'web', namespace: 'default', ...metadata },
    spec: { containers: [container()], ...spec },
  }
}

export function container(fields: object = {}): object {
  return { name: 'a', image: 'nginx', ...fields }
}

/** A pod whose only container has these fields. */
export function podWith(fields: object, spec: object = {}): object {
  return pod({ containers: [container(fields)], ...spec })
}

/** A template with the label `app: web`. */
export function template(spec: object = {}, metadata: object = {}): object {
  return { metadata: { labels: { app: 'web' }, ...metadata }, spec: { containers: [container()], ...spec } }
}

export const selector = { matchLabels: { app: 'web' } }

export function rulesUnderTest<T extends object>(rules: KindRules<T>): RulesUnderTest {
  return underTest(groupRules({ kind: rules })['kind'])
}
