/** Rules of the `apps` group. */
import type { GroupRules } from '../../kind-rules.ts'
import { groupRules } from '../group-rules.ts'
import { controllerRevisionRules } from './controller-revision-rules.ts'
import { daemonSetRules } from './daemon-set-rules.ts'
import { deploymentRules } from './deployment-rules.ts'
import { replicaSetRules } from './replica-set-rules.ts'
import { statefulSetRules } from './stateful-set-rules.ts'

export const apps: GroupRules = groupRules({
  ControllerRevision: controllerRevisionRules,
  DaemonSet: daemonSetRules,
  Deployment: deploymentRules,
  ReplicaSet: replicaSetRules,
  StatefulSet: statefulSetRules,
})
