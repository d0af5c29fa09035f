import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/harnesses/**/*.test.ts'],
    globalSetup: ['test/harnesses/support/add-harnesses.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    reporters: ['default', './plain-reporter.ts'],
  },
});
