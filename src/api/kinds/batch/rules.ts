/** Rules of the `batch` group. */
import type { GroupRules } from '../../kind-rules.ts'
import { groupRules } from '../group-rules.ts'
import { cronJobRules } from './cron-job-rules.ts'
import { jobRules } from './job-rules.ts'

export const batch: GroupRules = groupRules({ CronJob: cronJobRules, Job: jobRules })
