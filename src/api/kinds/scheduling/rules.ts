/** https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/ */
import type { GroupRules } from '../../kind-rules.ts'
import { priorityClassRules } from './priority-class.ts'

export const scheduling: GroupRules = { PriorityClass: priorityClassRules }
