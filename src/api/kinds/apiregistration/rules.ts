/** https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/apiserver-aggregation/ */
import type { GroupRules } from '../../kind-rules.ts'
import { apiServiceRules } from './api-service.ts'

export const apiregistration: GroupRules = { APIService: apiServiceRules }
