/** Minimal valid pods for tests; each case overrides the fields it is about. */
import type { KindRules } from '../../kind-rules.ts'
import type { Container, Pod } from '../../generated/core/v1.ts'
import type { KubernetesObject } from '../../metadata.ts'
import { underTest, type RulesUnderTest } from './check-rules.ts'

/** A pod with one container. */
export function pod(spec: object = {}, metadata: object = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', ...metadata },
    spec: { containers: [container()], ...spec },
  }
}

export function container(fields: object = {}): Container {
  return { name: 'a', image: 'nginx', ...fields }
}

/** A pod whose only container has these fields. */
export function podWith(fields: object, spec: object = {}): Pod {
  return pod({ containers: [container(fields)], ...spec })
}

/** A template with the label `app: web`. */
export function template(spec: object = {}, metadata: object = {}): object {
  return { metadata: { labels: { app: 'web' }, ...metadata }, spec: { containers: [container()], ...spec } }
}

export const selector = { matchLabels: { app: 'web' } }

export function rulesUnderTest<T extends KubernetesObject>(rules: KindRules<T>): RulesUnderTest {
  return underTest({ kind: rules }['kind'])
}
