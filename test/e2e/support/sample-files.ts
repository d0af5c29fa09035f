/** The smallest files of each kind that the command line reads. */

export const SESSION = `${JSON.stringify({
  user: 'ann',
  at: '2024-05-08T20:15:00+02:00',
  messages: [{ role: 'user', content: 'I moved to Graz.' }],
})}\n`;
export const NAIVE = SESSION.replace('+02:00', '');
export const LOCOMO = JSON.stringify([
  {
    sample_id: 'conv-1',
    conversation: {
      speaker_a: 'Ann',
      speaker_b: 'Ben',
      session_1_date_time: '1:56 pm on 8 May, 2023',
      session_1: [{ speaker: 'Ann', dia_id: 'D1:1', text: 'I moved to Graz.' }],
    },
    qa: [{ question: 'Where does Ann live?', answer: 'Graz', evidence: ['D1:1'], category: 4 }],
  },
]);
