/** https://kubernetes.io/docs/concepts/containers/runtime-class/ */
import type { GroupRules } from '../../kind-rules.ts'
import { runtimeClassRules } from './runtime-class.ts'

export const node: GroupRules = { RuntimeClass: runtimeClassRules }
